import { textTable } from '../../support/report/text-table';
import { type CampaignOptions } from './campaign-options';
import { latenessByKind } from './checks/lateness-by-kind';
import { COLUMNS } from './checks/verdict';
import { FAULT_KINDS } from './faults/fault-kind';
import { type CampaignResult } from './run-campaign';

/** With the broker dead all along every order closes within this time of its deadline (p99). */
const BROKER_DEAD_P99_MS = 2_000;

/** Pure: the tables of a campaign, and what is wrong in words. */
export function renderResult(result: CampaignResult, options: CampaignOptions): string {
  const { lateOrders } = result;
  const late = lateOrders.length > 0 ? [renderLateness(lateOrders)] : [];
  const tables = [faultsOf(result), verdictOf(result), ...late, figuresOf(result)];
  return [...tables, ...wordsOf(result), closing(result, options)].join('\n');
}

/** Whether every column is zero. */
export function hasPassed(result: CampaignResult, { isBrokerDead }: Pick<CampaignOptions, 'isBrokerDead'>): boolean {
  const isPunctual = !isBrokerDead || percentile(result.lateness, 0.99) <= BROKER_DEAD_P99_MS;
  return result.verdict.total === 0 && result.left === undefined && isPunctual;
}

function faultsOf({ log }: CampaignResult): string {
  const counts = log.counts();
  const rows = FAULT_KINDS.flatMap((kind) => {
    const count = counts.get(kind);
    if (count === undefined) return [];
    const activeMs = log.faults.reduce(
      (sum, fault) => sum + (fault.kind === kind ? fault.endedAt - fault.beganAt : 0),
      0,
    );
    return [[kind, String(count), (activeMs / 1_000).toFixed(0)]];
  });
  rows.push(['all', String(log.faults.length), '']);
  return textTable(['fault', 'injected', 'active s'], rows, [1, 2]);
}

function verdictOf({ verdict, orders }: CampaignResult): string {
  const head = ['orders', ...COLUMNS];
  return textTable(
    head,
    [[String(orders), ...COLUMNS.map((column) => String(verdict.count(column)))]],
    [...head.keys()],
  );
}

/** What the lateness of more than a second is made of. */
function renderLateness(orders: CampaignResult['lateOrders']): string {
  const seconds = (values: Float64Array): string =>
    [0.5, 0.99, 1].map((share) => (percentile(values, share) / 1_000).toFixed(1)).join(' / ');
  const rows = latenessByKind(orders).map(({ kind, asks, alone, lateMs, afterEndMs }) => [
    ...[kind, asks ? 'yes' : 'no', String(lateMs.length), String(alone), seconds(lateMs), seconds(afterEndMs)],
  ]);
  const head = ['fault of its life', 'asks', 'orders > 1 s late', 'no other kind'];
  return textTable([...head, 's after the deadline', 's after the end of the fault'], rows, [2, 3, 4, 5]);
}

function figuresOf(result: CampaignResult): string {
  const { lateness, byStatus, events, excused, latestAfterBrokerKill, tookMs, drainMs } = result;
  const ended = [...byStatus].sort().map(([status, count]) => `${count} ${status}`);
  const at = (share: number): string => percentile(lateness, share).toFixed(0);
  return [
    `  ended as ${ended.join(', ')}`,
    `  ${events.count} events, ${events.duplicates} copies under the same id`,
    `  lateness of ${lateness.length} orders: p50 ${at(0.5)} ms, p99 ${at(0.99)}, p99.9 ${at(0.999)}, max ${at(1)}; ` +
      `${excused.length} above 5 s`,
    ...(latestAfterBrokerKill === undefined
      ? []
      : [`  latest order while the broker was killed: ${latestAfterBrokerKill.toFixed(0)} ms`]),
    `  machine load per core: at most ${result.load.highest.toFixed(1)}`,
    `  ${(tookMs / 1_000).toFixed(0)} s in all, ${(drainMs / 1_000).toFixed(0)} s of them to end after the last fault`,
    '',
  ].join('\n');
}

function wordsOf({ verdict, left, log }: CampaignResult): string[] {
  return [
    ...verdict.kept.map(({ column, says }) => `  ${column}: ${says}`),
    ...(left === undefined ? [] : [`  still open: ${left}`]),
    ...log.failures.map((failure) => `  could not be injected: ${failure}`),
  ];
}

function closing(result: CampaignResult, options: CampaignOptions): string {
  const { transport, queueType, orders, faults, rate, instances, seed, only } = options;
  const flags = [
    options.isBrokerDead ? '--broker-dead' : `--faults ${faults}`,
    ...(only && !options.isBrokerDead ? [`--only ${only.join()}`] : []),
    ...(options.areApart ? ['--apart'] : []),
    ...(options.usesPgbouncer ? ['--pgbouncer'] : []),
    ...(options.hasBarePool ? ['--bare-pool'] : []),
  ].join(' ');
  const command = `npm run suite -- faults --transport ${transport} --queue-type ${queueType} --orders ${orders} ${flags} --rate ${rate} --instances ${instances} --seed ${seed}`;
  return `  ${hasPassed(result, options) ? 'PASS' : 'FAIL'} (seed ${seed}: ${command})\n`;
}

/** Of a sorted list. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(Math.ceil(sorted.length * share), sorted.length) - 1] ?? 0;
}
