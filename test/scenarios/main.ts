import { setMaxListeners } from 'node:events';
import { randomInt } from 'node:crypto';
import globalSetup from '../support/global-setup';
import globalTeardown from '../support/global-teardown';
import { hasPassed, renderResult } from './render-result';
import { runScenarios } from './run-scenarios';
import { parseOptions, USAGE } from './scenario-options';

const say = (line: string): void => void process.stdout.write(`  ${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return 0;
  }
  const options = parseOptions(args, randomInt(1_000_000));
  const controller = new AbortController();
  // Every order that waits listens; Node would take the 11th for a leak.
  setMaxListeners(0, controller.signal);
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => controller.abort());
  await globalSetup();
  try {
    const result = await runScenarios({ options, signal: controller.signal, say });
    process.stdout.write(`\n${renderResult(result, options.seed)}`);
    return hasPassed(result) ? 0 : 1;
  } finally {
    await globalTeardown();
  }
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(
      `the scenarios stopped: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  },
);
