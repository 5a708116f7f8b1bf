import { type ChildProcess, execFile } from 'node:child_process';
import { join } from 'node:path';

const root = join(__dirname, '..', '..');
const COMPILER = join(root, 'test', 'support', 'compile-on-require.js');
const MAIN = join(__dirname, 'campaign', 'main.ts');
/** One of each that needs no Erlang tools and ends within seconds; `npm run suite -- faults` injects them all, for long. */
const QUICK = [
  ...['kill-instance', 'crash-point', 'channel-error', 'clock-jump', 'purge-queue', 'delete-work-queue'],
  ...['kill-broker', 'terminate-backends', 'cut-database', 'provider-lies'],
].join();
const MEASURES = ['--orders', '150', '--rate', '12', '--instances', '2', '--seed', '7'];
const LIMIT_MS = 240_000;

describe('a stream of orders through two instances of the service', () => {
  let child: ChildProcess | undefined;
  afterAll(() => child?.kill());

  /** As `npm run suite -- faults` does it; resolves with what it says. */
  const campaign = (...args: string[]): Promise<string> =>
    new Promise((resolve) => {
      child = execFile(process.execPath, ['-r', COMPILER, MAIN, ...MEASURES, ...args], { cwd: root }, (_, out, error) =>
        resolve(`${out}${error}`),
      );
    });

  it(
    'loses nothing and does nothing twice while its surroundings break',
    async () => {
      expect(await campaign('--faults', '10', '--only', QUICK)).toMatch(/^ {2}PASS/m);
    },
    LIMIT_MS,
  );

  it(
    'is seen to fail when a safety is missing',
    async () => {
      expect(await campaign('--safety', 'no-generation-fence')).toMatch(/no-generation-fence .*noticed[^]*^ {2}PASS/m);
    },
    LIMIT_MS,
  );
});
