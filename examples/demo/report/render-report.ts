import { BUSY_PER_CORE } from '../../../test/support/machine-load';
import { textTable } from '../../../test/support/report/text-table';
import { TERMINAL } from '../checking/facts';
import { type CheckResult } from '../checking/invariant';
import { type Lateness } from '../checking/lateness';
import { type DemoReport } from './demo-report';

/** More of one kind tell nothing new. */
const SHOWN_VIOLATIONS = 5;

/** Pure: the report for people. */
export function renderReport(report: DemoReport): string {
  return [
    outcomes(report),
    lateness(report),
    stock(report),
    events(report),
    report.checks.map(checkLine).join(''),
    verdict(report),
  ].join('\n');
}

function outcomes({ groups }: DemoReport): string {
  const numbers = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  const rows = groups.map(({ says, orders, byStatus, byCause }) => [
    says,
    String(orders),
    ...TERMINAL.map((status) => String(byStatus[status] ?? '')),
    numbers(byCause),
  ]);
  return textTable(['the buyer …', 'orders', ...TERMINAL, 'ended by'], rows, [1, 2, 3, 4]);
}

function lateness({ lateness: { reaction, settling, settlingInTrouble } }: DemoReport): string {
  const row = (name: string, { count, p50, p99, max }: Lateness): string[] => [
    name,
    String(count),
    ...[p50, p99, max].map((ms) => `${Math.round(ms)} ms`),
  ];
  const rows = [
    row('deadline → first step', reaction),
    row('deadline → closed or paid', settling),
    row('… where the provider is slow or fails', settlingInTrouble),
  ];
  return textTable(['lateness (database clock)', 'orders', 'p50', 'p99', 'max'], rows, [1, 2, 3, 4]);
}

function stock({ stock: levels }: DemoReport): string {
  const rows = levels.map(({ sku, initial, onHand, reserved }) =>
    [sku, initial, initial - onHand, onHand, reserved].map(String),
  );
  return textTable(['stock', 'start', 'sold', 'on hand', 'reserved'], rows, [1, 2, 3, 4]);
}

function events({ events: seen }: DemoReport): string {
  if (!seen) return '  no events and no AMQP commands, because there is no broker\n';
  return `  ${seen.ids} events, in ${seen.deliveries} deliveries\n`;
}

function checkLine({ says, holds, violations }: CheckResult): string {
  const shown = violations.slice(0, SHOWN_VIOLATIONS).map((violation) => `      ${violation}\n`);
  const rest = violations.length - shown.length;
  return [`  ${holds ? '✓' : '✗'} ${says}\n`, ...shown, ...(rest > 0 ? [`      … and ${rest} more\n`] : [])].join('');
}

function verdict(report: DemoReport): string {
  const { orders, transportInUse, seconds, seed } = report;
  return `  ${outcomeOf(report)}: ${orders} orders by ${transportInUse} in ${seconds.toFixed(0)} s (--seed ${seed})\n`;
}

function outcomeOf({ checks, loadPerCore }: DemoReport): string {
  const failed = checks.filter(({ holds }) => !holds);
  if (failed.length === 0) return `all ${checks.length} invariants hold`;
  const isOnlyLate = failed.every(({ name }) => name === 'in-time');
  if (!isOnlyLate || loadPerCore <= BUSY_PER_CORE) return `${failed.length} of ${checks.length} invariants FAIL`;
  const load = `the load per core was ${loadPerCore.toFixed(1)}, and ${BUSY_PER_CORE} are enough for it`;
  return `all invariants hold but the time, on a busy machine (${load}; run it again when it is quiet)`;
}
