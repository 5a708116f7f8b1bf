import { setMaxListeners } from 'node:events';
import { RunError } from './run-error';

interface Context {
  readonly args: readonly string[];
  /** Aborted by a signal of the system, or by `abort`. */
  readonly signal: AbortSignal;
  /** Ends the run for this reason. */
  readonly abort: (reason: Error) => void;
}

interface Main {
  /** In sentences, e.g. `the campaign`. */
  readonly name: string;
  readonly usage: string;
  /** @returns the exit code. */
  readonly run: (context: Context) => Promise<number>;
}

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
const ECHO_MS = 1_000;
/** Children end with their owner, whatever becomes of the clean-up. */
const STOP_MS = 60_000;

/** Ended by a signal: nothing is wrong, and nothing is to be said. */
export class Interrupted extends Error {
  constructor(readonly exitCode: number) {
    super('interrupted');
  }
}

/** Frame of a program: tells its usage, turns signals into an abort, and errors into a sentence and an exit code. */
export function runMain({ name, usage, run }: Main): void {
  const args = process.argv.slice(2);
  if (args.includes('--help')) return void process.stdout.write(usage);
  const controller = new AbortController();
  const { signal } = controller;
  // Every order that waits listens; Node would take the 11th for a leak.
  setMaxListeners(0, signal);
  abortOnSignals(controller);
  run({ args, signal, abort: (reason) => controller.abort(reason) }).then(
    (code) => process.exit(code),
    // Whatever a wait threw: what ended it is in the signal.
    (error: unknown) => process.exit(report(name, signal.aborted ? signal.reason : error)),
  );
}

/** The first signal cleans up; a second one, unless it is an echo of the first (npm passes on what came), ends at once. */
function abortOnSignals(controller: AbortController): void {
  let firstAt = Infinity;
  for (const [signal, exitCode] of Object.entries(SIGNALS)) {
    process.on(signal, () => {
      if (performance.now() - firstAt > ECHO_MS) process.exit(exitCode);
      firstAt = Math.min(firstAt, performance.now());
      controller.abort(new Interrupted(exitCode));
      setTimeout(() => process.exit(exitCode), STOP_MS).unref();
    });
  }
}

function report(name: string, error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode;
  const text = error instanceof RunError ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`\n${name} stopped: ${text ?? 'no reason was given'}\n`);
  return 1;
}
