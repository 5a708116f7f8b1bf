import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { parseOptions, USAGE } from './campaign-options';
import { hasPassed, renderResult } from './render-result';
import { runCampaign } from './run-campaign';
import { chooseSafeties, trySafeties } from './try-safeties';

/** Servers and instances end with their owner, whatever becomes of the clean-up. */
const STOP_MS = 20_000;

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
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(name, () => stop(controller));
  say(`seed ${options.seed}`);
  if (options.safety !== undefined) {
    const { table, all } = await trySafeties(chooseSafeties(options.safety), {
      options,
      signal: controller.signal,
      say,
    });
    process.stdout.write(`\n${table}\n  ${all ? 'PASS' : 'FAIL'}\n`);
    return all ? 0 : 1;
  }
  const result = await runCampaign({ options, signal: controller.signal, say });
  process.stdout.write(`\n${renderResult(result, options)}`);
  return hasPassed(result, options) ? 0 : 1;
}

/** In good order, or not at all. */
function stop(controller: AbortController): void {
  controller.abort();
  setTimeout(() => process.exit(1), STOP_MS).unref();
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(
      `the campaign stopped: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    );
    process.exit(1);
  },
);
