import { setTimeout as sleep } from 'node:timers/promises';
import { RunError } from '../run-error';
import { stretched } from '../machine-load';

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
  const limit = sleep(stretched(STEP_LIMIT_MS), `not done within ${STEP_LIMIT_MS / 1_000} s`, { signal: timer.signal });
  limit.catch(() => undefined);
  try {
    return await Promise.race([limit, run().then(() => undefined)]);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    timer.abort();
  }
}

/**
 * Opens one thing after the other; when one cannot be opened, those before it are closed again.
 *
 * @returns what was opened, and `close`, which rejects with a RunError when something could not be closed
 */
export async function openAll<T extends object>(
  open: (cleanUp: CleanUp) => Promise<T>,
  { keepsEvidence = false } = {},
): Promise<T & { close(): Promise<void> }> {
  const cleanUp = new CleanUp();
  const close = async (): Promise<void> => {
    const failures = await cleanUp.run({ keepsEvidence });
    if (failures.length > 0) throw new RunError(`not cleaned up: ${failures.join('; ')}`);
  };
  try {
    return { ...(await open(cleanUp)), close };
  } catch (error) {
    await close().catch((failure: unknown) => process.stderr.write(`  ${String(failure)}\n`));
    throw error;
  }
}
