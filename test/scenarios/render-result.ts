import { textTable } from '../support/report/text-table';
import { type OrderFacts } from './checks/order-facts';
import { VIOLATION_KINDS } from './checks/violation';
import { type OrderResult, type RunResult } from './run-scenarios';
import { PROVIDERS } from './scenario';

/** Failures whose traces are printed in full. */
const TRACES = 20;

/** Pure: the table of the run, its totals, and the traces of what failed. */
export function renderResult(result: RunResult, seed: number): string {
  return [tableOf(result.orders), totalsOf(result), ...tracesOf(result), verdictOf(result, seed)].join('\n');
}

/** Whether every promise was kept. */
export function hasPassed({ orders, violations }: RunResult): boolean {
  return violations.length === 0 && orders.every((order) => order.violations.length === 0);
}

function tableOf(orders: readonly OrderResult[]): string {
  const names = [...new Set(orders.map(({ facts }) => facts.order.scenario.name))].sort();
  const rows = names.map((name) => {
    const mine = orders.filter(({ facts }) => facts.order.scenario.name === name);
    const cells = PROVIDERS.map((provider) => cellOf(mine.filter(({ facts }) => facts.order.provider === provider)));
    return [name, ...cells, endingsOf(mine)];
  });
  return textTable(['scenario', ...PROVIDERS, 'ended as'], rows, [1, 2, 3]);
}

function cellOf(orders: readonly OrderResult[]): string {
  if (orders.length === 0) return '–';
  const failed = orders.filter(({ violations }) => violations.length > 0).length;
  return failed === 0 ? `${orders.length} PASS` : `${failed}/${orders.length} FAIL`;
}

function endingsOf(orders: readonly OrderResult[]): string {
  const counts = new Map<string, number>();
  for (const { facts } of orders) {
    const status = facts.stored?.status ?? 'not stored';
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return [...counts]
    .sort()
    .map(([status, count]) => `${count} ${status}`)
    .join(', ');
}

function totalsOf({ orders, violations, untrusted, outage, tookMs }: RunResult): string {
  const all = [...violations, ...orders.flatMap((order) => order.violations)];
  const kinds = VIOLATION_KINDS.map((kind) => [kind, String(all.filter((one) => one.kind === kind).length)]);
  const lines = untrusted.map(
    ({ provider, forged, notifications, spoiled, answers }) =>
      `  ${provider}: ${notifications} of ${forged} forged notifications refused and counted, ` +
      `${answers} untrusted answers counted (at least ${spoiled} were spoiled)`,
  );
  if (outage) {
    const { downMs, recoveryMs } = outage;
    lines.push(`  outage of all providers: ${outage.orders} orders, ${downMs} ms, all ended ${recoveryMs} ms after it`);
  }
  const again = orders.filter(({ facts }) => facts.order.isTooLate).length;
  if (again > 0) lines.push(`  ${again} stories were begun again with another order, as the machine was too busy`);
  lines.push(`  ${orders.length} orders in ${(tookMs / 1_000).toFixed(0)} s`);
  return `${textTable(['broken promise', 'times'], kinds, [1])}\n${lines.join('\n')}\n`;
}

function tracesOf({ orders, violations }: RunResult): string[] {
  const failed = orders.filter((order) => order.violations.length > 0);
  const whole = violations.map(({ kind, says }) => `  ${kind}: ${says}`);
  const shown = failed.slice(0, TRACES).map(({ facts, violations: broken }) => {
    const reasons = broken.map(({ kind, says }) => `    ${kind}: ${says}`).join('\n');
    return `  ${facts.order.id}\n${reasons}\n${traceOf(facts)}`;
  });
  if (failed.length > TRACES) shown.push(`  and ${failed.length - TRACES} more`);
  return [...whole, ...shown];
}

function traceOf({ order, history, attempts, refunds, unmatched, timeouts, ledger }: OrderFacts): string {
  const line = (name: string, rows: readonly unknown[]): string[] =>
    rows.map((row) => `      ${name} ${JSON.stringify(row)}`);
  return [
    ...history.map(
      ({ version, from, to, cause, occurredAt }) =>
        `      history ${version}: ${from ?? 'nothing'} -> ${to} by ${cause} ${occurredAt - order.placedAt} ms after placing`,
    ),
    ...line('attempt', attempts),
    ...line('refund', refunds),
    ...line('unmatched', unmatched),
    ...line('timeout', timeouts),
    ...line('ledger', ledger),
  ].join('\n');
}

function verdictOf(result: RunResult, seed: number): string {
  return `  ${hasPassed(result) ? 'PASS' : 'FAIL'} (seed ${seed}: npm run suite -- scenarios --seed ${seed})\n`;
}
