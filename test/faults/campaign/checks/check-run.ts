import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OrderRecord } from '../../../support/checks/facts';
import { stockProblems } from '../../../support/checks/order-checks';
import { Records } from '../../../support/checks/records';
import { type FaultLog, type InjectedFault } from '../faults/fault-log';
import { type Stage } from '../stage/open-stage';
import { type StreamResult } from '../stream/drive-stream';
import { type EventRecord } from '../stream/event-record';
import { hasAttempt, planOrder, type PlannedOrder, PLENTY } from '../stream/plan-order';
import { checkOrder } from './check-order';
import { checkUnsendable } from './check-unsendable';
import { BASE_MS, earlyMs, latenessOf, type OrderNeeds } from './lateness';
import { type LateOrder, NOTICEABLE_MS } from './lateness-by-kind';
import { type MachineLoad } from '../../../support/machine-load';
import { parkedCommands } from './parked-commands';
import { Verdict } from './verdict';

interface Sources {
  readonly seed: number;
  readonly stage: Stage;
  readonly stream: StreamResult;
  readonly events: EventRecord;
  readonly log: FaultLog;
  readonly load: MachineLoad;
  readonly isBrokerDead: boolean;
}

/** An order that was more than 5 s late. */
export interface ExcusedOrder {
  readonly id: string;
  readonly lateMs: number;
  readonly allowedMs: number;
  /** What became of it when, in milliseconds from its deadline. */
  readonly steps: string;
}

/** What came out of the run. */
export interface Findings {
  readonly verdict: Verdict;
  /** Orders in the database. */
  readonly orders: number;
  readonly byStatus: ReadonlyMap<string, number>;
  /** Milliseconds, of all orders that ended after their deadline, in ascending order. */
  readonly lateness: Float64Array;
  /** The latest order that a kill -9 of the broker, and nothing that stops all work, fell upon; undefined: none. */
  readonly latestAfterBrokerKill: number | undefined;
  /** Orders whose lateness needed an excuse: above the base of 5 s. */
  readonly excused: readonly ExcusedOrder[];
  /** Every order that was more than a second late, for the table of what that is made of. */
  readonly lateOrders: readonly LateOrder[];
}

/** Looks at everything that is left: every order, its money, stock and events. */
export async function checkRun(sources: Sources): Promise<Findings> {
  const { seed, stage, stream, events, log } = sources;
  const verdict = new Verdict();
  for (const says of stream.refusals) verdict.add('refused', says);
  for (const says of stage.instances.flatMap(({ deaths }) => deaths)) verdict.add('crashes', says);
  const ledger = new Map((await stage.simulator.ledger()).map((entry) => [entry.reference, entry]));
  const times = new Times(log.faults, sources.load);
  const circumstances = sources.isBrokerDead ? undefined : times;
  const byStatus = new Map<string, number>();
  const missing = new Set(stream.accepted);
  const records = await Records.open(stage.databases.primaryUrl);
  const orders = await records.orderRecords();
  const [stock, parked] = [await records.stock(), await records.parkedTimeouts()];
  await records.close();
  const placed: { status: string; lines: PlannedOrder['lines'] }[] = [];
  for (const order of orders.values()) {
    const number = Number(order.id.split('-')[1]);
    const plan = planOrder(seed, number);
    missing.delete(number);
    placed.push({ status: order.status, lines: plan.lines });
    byStatus.set(order.status, (byStatus.get(order.status) ?? 0) + 1);
    checkOrder(order, { plan, entry: ledger.get(order.id), events, circumstances }, verdict);
    times.check(order, { asks: hasAttempt(plan), skus: plan.lines.map(({ sku }) => sku) }, verdict);
  }
  for (const number of missing) verdict.add('unclosed', `order ${number} was accepted and is not there`);
  checkUnplaced(sources, verdict);
  for (const says of stockProblems(stock, () => PLENTY, placed)) verdict.add('stock-drift', says);
  checkParked(parked, events, verdict);
  await checkUnsendable(stage.database, verdict);
  for (const says of sources.isBrokerDead ? [] : await parkedCommands(stage)) verdict.add('parked', says);
  for (const { column, says } of log.faults.flatMap(({ breaches }) => breaches)) verdict.add(column, says);
  checkAcks(stage, verdict);
  return { verdict, orders: orders.size, byStatus, ...times.result() };
}

/** Every order was either accepted or is among the refusals. */
function checkUnplaced({ stream }: Sources, verdict: Verdict): void {
  const lost = stream.placed - stream.accepted.size - stream.refusals.length;
  if (lost > 0) verdict.add('refused', `${lost} orders were neither accepted nor refused`);
}

/** The latenesses of a run, and which of them is too much. */
class Times {
  private readonly late: number[] = [];
  private readonly brokerKills: readonly InjectedFault[];
  private latest: number | undefined;
  private readonly excused: ExcusedOrder[] = [];
  private readonly lateOrders: LateOrder[] = [];

  constructor(
    readonly faults: readonly InjectedFault[],
    readonly load: MachineLoad,
  ) {
    this.brokerKills = faults.filter(({ kind }) => kind === 'kill-broker');
  }

  check(order: OrderRecord, needs: OrderNeeds, verdict: Verdict): void {
    const early = earlyMs(order);
    if (early > 0) verdict.add('early', `${order.id} was closed ${early.toFixed(3)} ms before its deadline`);
    const lateness = latenessOf(order, this, needs);
    if (!lateness) return;
    const { lateMs, allowedMs } = lateness;
    this.late.push(lateMs);
    if (lateMs > NOTICEABLE_MS) this.lateOrders.push({ ...lateness, asks: needs.asks });
    const steps = order.history
      .map(({ to, cause, occurredAt }) => `${to} by ${cause} at ${Math.round(occurredAt - order.expiresAt)}`)
      .join(', ');
    if (lateMs > BASE_MS) this.excused.push({ id: order.id, lateMs, allowedMs, steps });
    const isHit = this.brokerKills.some(({ beganAt, endedAt }) => {
      return beganAt <= order.expiresAt + lateMs && endedAt >= order.expiresAt;
    });
    if (isHit) this.latest = Math.max(this.latest ?? 0, lateMs);
    if (lateMs <= allowedMs) return;
    const of = this.faults.filter(
      ({ beganAt, endedAt }) => beganAt <= order.expiresAt + lateMs && endedAt >= order.createdAt,
    );
    const says = of
      .map(({ kind, says: what, beganAt }) => `${kind} ${what} at ${Math.round(beganAt - order.expiresAt)}`)
      .join('; ');
    verdict.add(
      'late',
      `${order.id}: ${Math.round(lateMs)} ms, ${Math.round(allowedMs)} are allowed (${steps}); ${says}`,
    );
  }

  result(): Pick<Findings, 'lateness' | 'latestAfterBrokerKill' | 'excused' | 'lateOrders'> {
    const { latest: latestAfterBrokerKill, excused, lateOrders } = this;
    return { lateness: Float64Array.from(this.late).sort(), latestAfterBrokerKill, excused, lateOrders };
  }
}

/** The broker refuses the ack of a delivery that the channel never brought; the next one may hit somebody else's. */
function checkAcks({ folder }: Stage, verdict: Verdict): void {
  for (const name of readdirSync(folder).filter((file) => /^service-\d+\.log$/.test(file))) {
    const log = readFileSync(join(folder, name), 'utf8');
    for (const [line] of log.matchAll(/.*unknown delivery tag.*/g)) verdict.add('wrong-acks', line.trim());
  }
}

/** Each of them is also an event. */
function checkParked(parked: readonly string[], events: EventRecord, verdict: Verdict): void {
  for (const says of parked) verdict.add('parked', says);
  for (let more = parked.length; more < events.parked; more += 1) verdict.add('parked', 'an event timeout.parked');
}
