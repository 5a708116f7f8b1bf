import { randomInt } from 'node:crypto';
import { runMain } from '../support/run-main';
import globalSetup from '../support/global-setup';
import globalTeardown from '../support/global-teardown';
import { hasPassed, renderResult } from './render-result';
import { runScenarios } from './run-scenarios';
import { parseOptions, USAGE } from './scenario-options';

const say = (line: string): void => void process.stdout.write(`  ${line}\n`);

runMain({
  name: 'the scenarios',
  usage: USAGE,
  run: async ({ args, signal }) => {
    const options = parseOptions(args, randomInt(1_000_000));
    await globalSetup();
    try {
      const result = await runScenarios({ options, signal, say });
      process.stdout.write(`\n${renderResult(result, options.seed)}`);
      return hasPassed(result) ? 0 : 1;
    } finally {
      await globalTeardown();
    }
  },
});
