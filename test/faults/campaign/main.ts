import { randomInt } from 'node:crypto';
import { runMain } from '../../support/run-main';
import { parseOptions, USAGE } from './campaign-options';
import { hasPassed, renderResult } from './render-result';
import { runCampaign } from './run-campaign';
import { chooseSafeties, trySafeties } from './try-safeties';

const say = (line: string): void => void process.stdout.write(`  ${line}\n`);

runMain({
  name: 'the campaign',
  usage: USAGE,
  run: async ({ args, signal }) => {
    const options = parseOptions(args, randomInt(1_000_000));
    say(`seed ${options.seed}`);
    if (options.safety !== undefined) {
      const { table, all } = await trySafeties(chooseSafeties(options.safety), { options, signal, say });
      process.stdout.write(`\n${table}\n  ${all ? 'PASS' : 'FAIL'}\n`);
      return all ? 0 : 1;
    }
    const result = await runCampaign({ options, signal, say });
    process.stdout.write(`\n${renderResult(result, options)}`);
    return hasPassed(result, options) ? 0 : 1;
  },
});
