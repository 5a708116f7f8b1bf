import { setTimeout as sleep } from 'node:timers/promises';

interface Step {
  readonly name: string;
  readonly run: () => Promise<unknown>;
  /** To be left when the run went wrong: somebody will want to look at it. */
  readonly isEvidence: boolean;
}

/** A child that ends in good order needs 10 s at most; a server that does not answer must not keep us longer. */
const STEP_LIMIT_MS = 20_000;

/** Takes note of what is to be undone, and undoes it in the opposite order, whatever fails on the way. */
export class CleanUp {
  private readonly steps: Step[] = [];

  add(name: string, run: () => Promise<unknown>, { isEvidence = false } = {}): void {
    this.steps.push({ name, run, isEvidence });
  }

  /** @returns one sentence for each step that failed. */
  async run({ keepsEvidence }: { readonly keepsEvidence: boolean }): Promise<string[]> {
    const failures: string[] = [];
    for (let step = this.steps.pop(); step; step = this.steps.pop()) {
      if (keepsEvidence && step.isEvidence) continue;
      const failure = await runLimited(step);
      if (failure !== undefined) failures.push(`${step.name}: ${failure}`);
    }
    return failures;
  }
}

async function runLimited({ run }: Step): Promise<string | undefined> {
  const timer = new AbortController();
  const limit = sleep(STEP_LIMIT_MS, `not done within ${STEP_LIMIT_MS / 1_000} s`, { signal: timer.signal });
  limit.catch(() => undefined);
  try {
    return await Promise.race([limit, run().then(() => undefined)]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    timer.abort();
  }
}
