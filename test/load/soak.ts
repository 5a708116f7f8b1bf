import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { migrate } from '../../src/module';
import { environmentOf } from '../e2e/running-service';
import { createDatabase, type TestDatabase } from '../support/database';
import { createVhost } from '../support/rabbit-vhost';
import { growthPerMinute, type Sample } from './sample';
import { ShopLoad } from './shop-load';
import { SoakedService } from './soaked-service';

const SAMPLE_MS = 10_000;
/** Code is compiled, pools and caches fill, for at least a minute and a third of the run; what grows after that leaks. */
const WARM_UP_MS = 60_000;
const MIB = 1_048_576;
/** 1 MiB an hour is 17 KiB a minute; below half a MiB a minute it is the noise of the collector over some minutes. */
const MAX_HEAP_MIB_PER_MINUTE = 0.5;
/** Pages that the allocator has not released count too. */
const MAX_RSS_MIB_PER_MINUTE = 3;
/** Pools breathe by some sockets; one for each order would be thousands. */
const MAX_RESOURCES_PER_MINUTE = 10;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

async function run(): Promise<number> {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '5' }, rate: { type: 'string', default: '40' } },
  });
  const [minutes, rate] = [Number(values.minutes), Number(values.rate)];
  if (!(minutes >= 2 && rate > 0)) throw new Error('--minutes must be 2 or more, and --rate above 0');
  const [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  await migrate(database.dataSource);
  const env = { ...environmentOf(database.url, vhost.url), LOG_LEVEL: 'info', REMINDER_OFFSETS_MS: '1000' };
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-soak-'));
  const service = await SoakedService.open(env, join(folder, 'service.log'));
  const load = new ShopLoad(service.url, rate);
  await load.open();
  load.start();
  const samples = await collect(service, minutes * 60_000);
  await load.stop();
  const open = await unfinished(database);
  const isStopped = await service.stopInOrder();
  await database.drop();
  await vhost.drop();
  rmSync(folder, { recursive: true });
  say(
    `${load.placed} orders; answers ${JSON.stringify(Object.fromEntries(load.answers))}; ${open} left open; ${isStopped ? 'stopped in order' : 'DID NOT STOP IN ORDER'}`,
  );
  return judge(samples) && open === 0 && isStopped ? 0 : 1;
}

async function collect(service: SoakedService, forMs: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const startedAt = performance.now();
  for (let at = SAMPLE_MS; at <= forMs; at += SAMPLE_MS) {
    await new Promise((resolve) => setTimeout(resolve, startedAt + at - performance.now()));
    const sample = await service.sample(at);
    samples.push(sample);
    const [rss, heap, external] = [sample.rss, sample.heapUsed, sample.external].map((bytes) =>
      (bytes / MIB).toFixed(1),
    );
    say(`${String(at / 1_000).padStart(5)} s  rss ${rss} MiB  heap ${heap} MiB  external ${external} MiB  resources ${sample.resources}`); // prettier-ignore
  }
  return samples;
}

/** Orders whose deadline has passed are ended within seconds; counted after at most 20 s. */
async function unfinished({ dataSource }: TestDatabase): Promise<number> {
  const sql = `SELECT count(*)::int AS count FROM order_timeout.orders WHERE status IN ('PENDING', 'CLOSING')`;
  for (let tries = 0; ; tries++) {
    const [row] = await dataSource.query<{ count: number }[]>(sql);
    if (row?.count === 0 || tries === 40) return row?.count ?? -1;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

function judge(all: readonly Sample[]): boolean {
  const warmUpMs = Math.max(WARM_UP_MS, (all.at(-1)?.atMs ?? 0) / 3);
  const samples = all.filter(({ atMs }) => atMs > warmUpMs);
  const heap = growthPerMinute(samples, ({ heapUsed }) => heapUsed / MIB);
  const rss = growthPerMinute(samples, (sample) => sample.rss / MIB);
  const resources = growthPerMinute(samples, (sample) => sample.resources);
  const isFlat =
    heap <= MAX_HEAP_MIB_PER_MINUTE && rss <= MAX_RSS_MIB_PER_MINUTE && resources <= MAX_RESOURCES_PER_MINUTE;
  say(
    `after ${Math.round(warmUpMs / 1_000)} s, by ${samples.length} samples: heap ${heap.toFixed(3)} MiB/min (at most ` +
      `${MAX_HEAP_MIB_PER_MINUTE}), rss ${rss.toFixed(3)} MiB/min (at most ${MAX_RSS_MIB_PER_MINUTE}), ` +
      `resources ${resources.toFixed(2)}/min: ${isFlat ? 'flat' : 'GROWS'}`,
  );
  return isFlat;
}

run().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    process.stderr.write(`soak: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  },
);
