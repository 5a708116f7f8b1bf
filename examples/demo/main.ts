import { RunError } from '../../test/support/run-error';
import { Interrupted, runMain } from '../../test/support/run-main';
import { CleanUp } from '../../test/support/servers/clean-up';
import { parseOptions, USAGE } from './demo-options';
import { NO_BROKER } from '../../test/support/servers/service-environment';
import { renderReport } from './report/render-report';
import { runDemo } from './run-demo';
import { runWatch } from './watch/run-watch';

/** Without URLs there is no broker. */
function readEnvironment(): { databaseUrl: string; rabbitUrls: string[] } {
  const { DATABASE_URL: databaseUrl, RABBITMQ_URLS: rabbitUrls = '' } = process.env;
  const urls = rabbitUrls.split(',').filter((url) => url !== '');
  if (databaseUrl && rabbitUrls === NO_BROKER) return { databaseUrl, rabbitUrls: [] };
  if (databaseUrl && urls.length > 0) return { databaseUrl, rabbitUrls: urls };
  throw new RunError('DATABASE_URL and RABBITMQ_URLS must be set; `npm run demo` sets up both servers and does so');
}

runMain({
  name: 'The demo',
  usage: USAGE,
  run: async ({ args, signal, abort }) => {
    const options = parseOptions(args, process.env.RABBITMQ_URLS !== NO_BROKER);
    if (!options) {
      process.stdout.write(USAGE);
      return 0;
    }
    const output = options.json ? process.stderr : process.stdout;
    const cleanUp = new CleanUp();
    let isEvidence = true;
    try {
      const onDeath = (sentence: string): void => abort(new RunError(sentence));
      const start = { options, environment: readEnvironment(), output, cleanUp, signal, onDeath };
      if (options.watch) {
        await runWatch(start, options.watch);
        isEvidence = false;
        return 0;
      }
      const report = await runDemo(start);
      process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : `\n${renderReport(report)}`);
      isEvidence = !report.passed;
      return report.passed ? 0 : 1;
    } finally {
      const keepsEvidence = isEvidence && !(signal.reason instanceof Interrupted);
      for (const failure of await cleanUp.run({ keepsEvidence })) {
        process.stderr.write(`  not cleaned up: ${failure}\n`);
      }
    }
  },
});
