import { setMaxListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOOKS } from '../campaign/build/crash-points';
import { SAFETIES } from '../campaign/build/safeties';
import { parseOptions } from '../campaign/campaign-options';
import { hasPassed, renderResult } from '../campaign/render-result';
import { runCampaign } from '../campaign/run-campaign';
import { chooseSafeties, trySafeties } from '../campaign/try-safeties';

/** One of each that needs no Erlang tools and ends within seconds; `npm run test:faults` injects them all, for long. */
const QUICK = [
  ...['kill-instance', 'crash-point', 'channel-error', 'clock-jump', 'purge-queue', 'delete-work-queue'],
  ...['kill-broker', 'terminate-backends', 'cut-database', 'provider-lies'],
].join();
const SEED = 7;

function options(...args: string[]) {
  return parseOptions(['--orders', '150', '--rate', '12', '--instances', '2', '--seed', String(SEED), ...args], SEED);
}

describe('the patches of the fault campaign', () => {
  const patches = [...HOOKS, ...SAFETIES.flatMap((safety) => [...safety.patches, ...(safety.without ?? [])])];

  it.each(patches)('$name is there once in $file of the build', ({ file, find }) => {
    const code = readFileSync(join(__dirname, '..', '..', 'dist', file), 'utf8');
    expect(code.split(find)).toHaveLength(2);
  });
});

describe('a stream of orders through two instances of the service', () => {
  const controller = new AbortController();
  // Every order that waits listens; Node would take the 11th for a leak.
  setMaxListeners(0, controller.signal);
  const { signal } = controller;
  const say = () => undefined;
  afterAll(() => controller.abort());

  it('loses nothing and does nothing twice while its surroundings break', async () => {
    const chosen = options('--faults', '10', '--only', QUICK);
    const result = await runCampaign({ options: chosen, signal, say });
    expect(hasPassed(result, chosen) ? 'PASS' : renderResult(result, chosen)).toBe('PASS');
  }, 240_000);

  it('is seen to fail when a safety is missing', async () => {
    const { table, all } = await trySafeties(chooseSafeties('release-without-grouping'), {
      options: options('--safety', 'release-without-grouping'),
      signal,
      say,
    });
    expect(all ? 'noticed' : table).toBe('noticed');
  }, 240_000);
});
