import { textTable } from '../../test/support/report/text-table';
import { type Contestant, type Metric } from '../contestant';
import { type BenchReport, type JudgedTarget } from './bench-report';
import { type Machine } from './machine';
import { spreadFor, type WorkloadResult } from './workload-result';

/** Pure: the tables of a benchmark, ratios first, then the figures behind them, then the targets. */
export function renderReport(report: BenchReport): string {
  const { machine, results, targets, rounds, isShort } = report;
  return [
    ...(isShort ? ['  --short: these figures mean nothing\n\n'] : []),
    ...results.map((result) =>
      renderWorkload(
        result,
        targets.filter((one) => one.workload === result.workload.id),
      ),
    ),
    renderMachine(machine),
    `  medians of ${rounds} interleaved round${rounds === 1 ? '' : 's'}, lowest–highest behind them\n`,
  ].join('');
}

function renderWorkload(result: WorkloadResult, targets: readonly JudgedTarget[]): string {
  const { workload, failures } = result;
  return [
    `  ${workload.id} ${workload.title}\n\n`,
    ...workload.metrics.filter(({ hasRatio }) => hasRatio ?? true).map((metric) => ratios(result, metric)),
    figures(result),
    ...targets.map(({ says, value, isMet }) => `  ${isMet ? 'met   ' : 'missed'}  ${says}: ${number(value)}\n`),
    ...failures.map((failure) => `  FAILED  ${failure}\n`),
    '\n',
  ].join('');
}

/** Product ÷ each other, one column for each product. */
function ratios(result: WorkloadResult, metric: Metric): string {
  const contestants = [...result.samples.keys()];
  const median = (contestant: Contestant): number | undefined => spreadFor(result, contestant, metric.key)?.median;
  const products = contestants.filter((one) => one.role === 'product' && median(one) !== undefined);
  const others = contestants.filter((one) => one.role !== 'product' && median(one) !== undefined);
  if (products.length === 0 || others.length === 0) return '';
  const rows = others.map((other) => [
    `÷ ${other.name}`,
    ...products.map((product) => ratio(median(product) ?? NaN, median(other) ?? NaN)),
  ]);
  const head = [`${metric.title}, ${metric.better} is better`, ...products.map(({ name }) => name)];
  return `${textTable(
    head,
    rows,
    products.map((_, index) => index + 1),
  )}\n`;
}

function figures(result: WorkloadResult): string {
  const { metrics } = result.workload;
  const rows = [...result.samples.keys()].map((contestant) => [
    contestant.name,
    contestant.role,
    ...metrics.map(({ key }) => {
      const spread = spreadFor(result, contestant, key);
      if (!spread) return '';
      const { median, min, max } = spread;
      return min === max ? number(median) : `${number(median)} (${number(min)}–${number(max)})`;
    }),
  ]);
  return `${textTable(
    ['', '', ...metrics.map(({ title }) => title)],
    rows,
    metrics.map((_, index) => index + 2),
  )}\n`;
}

function ratio(product: number, other: number): string {
  return `${(product / other).toFixed(2)} ×`;
}

function number(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return String(Number(value.toPrecision(3)));
}

function renderMachine(machine: Machine): string {
  const { cpu, cores, memoryGiB, kernel, node, postgresql, rabbitmq, erlang, delayedExchange, commit } = machine;
  const settings = Object.entries(machine.postgresqlSettings).map(([name, value]) => `${name} ${value}`);
  return [
    `  ${cpu}, ${cores} cores shared by everything, ${memoryGiB} GiB, Linux ${kernel}, loopback\n`,
    `  Node ${node}, PostgreSQL ${postgresql} (${settings.join(', ')}; fsync on), RabbitMQ ${rabbitmq} on Erlang ${erlang}`,
    `${delayedExchange ? `, delayed exchange: ${delayedExchange}` : ''}\n  commit ${commit}\n`,
  ].join('');
}
