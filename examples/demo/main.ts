import { setMaxListeners } from 'node:events';
import { RunError } from '../../test/harness/run-error';
import { type DemoOptions, parseOptions, USAGE } from './demo-options';
import { renderReport } from './report/render-report';
import { runDemo } from './run-demo';
import { CleanUp } from '../../test/harness/servers/clean-up';

const SIGNALS = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

const ECHO_MS = 1_000;

/** Ended by a signal: nothing is wrong, and nothing is to be said. */
class Interrupted extends Error {
  constructor(readonly exitCode: number) {
    super('interrupted');
  }
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (!options) {
    process.stdout.write(USAGE);
    return 0;
  }
  const controller = new AbortController();
  // Every order that waits listens; Node would take the 11th for a leak.
  setMaxListeners(0, controller.signal);
  abortOnSignals(controller);
  const cleanUp = new CleanUp();
  let keepsEvidence = true;
  try {
    const code = await runAndShow(options, cleanUp, controller);
    keepsEvidence = code !== 0;
    return code;
  } catch (error) {
    // Whatever a wait threw: what ended it is in the signal.
    const reason: unknown = controller.signal.aborted ? controller.signal.reason : error;
    keepsEvidence = !(reason instanceof Interrupted);
    throw reason;
  } finally {
    for (const failure of await cleanUp.run({ keepsEvidence })) {
      process.stderr.write(`  not cleaned up: ${failure}\n`);
    }
  }
}

async function runAndShow(options: DemoOptions, cleanUp: CleanUp, controller: AbortController): Promise<number> {
  const report = await runDemo({
    options,
    environment: readEnvironment(),
    output: options.json ? process.stderr : process.stdout,
    cleanUp,
    signal: controller.signal,
    onDeath: (sentence) => controller.abort(new RunError(sentence)),
  });
  process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : `\n${renderReport(report)}`);
  return report.passed ? 0 : 1;
}

function readEnvironment(): { databaseUrl: string; rabbitUrls: string[] } {
  const { DATABASE_URL: databaseUrl, RABBITMQ_URLS: rabbitUrls = '' } = process.env;
  const urls = rabbitUrls.split(',').filter((url) => url !== '');
  if (databaseUrl && urls.length > 0) return { databaseUrl, rabbitUrls: urls };
  throw new RunError('DATABASE_URL and RABBITMQ_URLS must be set; `npm run demo` sets up both servers and does so');
}

/** The first signal cleans up; a second one, unless it is an echo of the first (npm passes on what came), ends at once. */
function abortOnSignals(controller: AbortController): void {
  let firstAt = Infinity;
  for (const [name, exitCode] of Object.entries(SIGNALS)) {
    process.on(name, () => {
      if (performance.now() - firstAt > ECHO_MS) process.exit(exitCode);
      firstAt = Math.min(firstAt, performance.now());
      controller.abort(new Interrupted(exitCode));
    });
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    if (error instanceof Interrupted) process.exit(error.exitCode);
    const text = error instanceof RunError ? error.message : error instanceof Error ? error.stack : String(error);
    process.stderr.write(`\nThe demo stopped: ${text ?? 'no reason was given'}\n`);
    process.exit(1);
  },
);
