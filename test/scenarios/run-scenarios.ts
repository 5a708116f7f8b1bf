import { setTimeout as sleep } from 'node:timers/promises';
import { stockProblems } from '../support/checks/order-checks';
import { checkEnding } from './checks/check-ending';
import { checkAllMoney, checkMoney } from './checks/check-money';
import { checkRecords } from './checks/check-records';
import { checkUntrusted, countUntrusted, type UntrustedCount } from './checks/check-untrusted';
import { gatherFacts, readTimeouts } from './checks/gather-facts';
import { type OrderFacts } from './checks/order-facts';
import { type Violation } from './checks/violation';
import { type OutageResult, playOutage } from './outage';
import { planCast } from './plan-cast';
import { PLENTY, SKUS } from './playing/place-order';
import { type Placed } from './playing/placed-order';
import { playOrder, type Role } from './playing/play-order';
import { type ScenarioOptions } from './scenario-options';
import { openStage, type Stage } from './stage/open-stage';

/** What became of one order. */
export interface OrderResult {
  readonly facts: OrderFacts;
  readonly violations: readonly Violation[];
}

/** What became of the run. */
export interface RunResult {
  readonly orders: readonly OrderResult[];
  readonly untrusted: readonly UntrustedCount[];
  readonly outage: OutageResult | undefined;
  /** What is wrong beside single orders: stock counters, counters of forgeries, steps that could not be played. */
  readonly violations: readonly Violation[];
  readonly tookMs: number;
}

interface Run {
  readonly options: ScenarioOptions;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** 60 s after a time limit, the watch of the late ones after that, and a machine that has other things to do. */
const QUIET_LIMIT_MS = 150_000;
const LOOK_EVERY_MS = 500;
/** Confirmed events are with the subscriber in milliseconds; unknown ones would show up in this time. */
const LAST_EVENTS_MS = 500;
const OUTAGE_ORDERS = 6;
/** That many place orders side by side. */
const SHOPS = 4;

/** Plays every scenario and looks at what is left. Throws only when the run itself cannot go on. */
export async function runScenarios({ options, signal, say }: Run): Promise<RunResult> {
  const beganAt = Date.now();
  const stage = await openStage(options.providers, signal);
  try {
    say(`the service and the simulator run after ${Date.now() - beganAt} ms`);
    for (const sku of SKUS) await stage.shops[0]?.setStock(sku, PLENTY);
    const byId = new Map<string, Placed>();
    const placed = (order: Placed): void => void byId.set(order.id, order);
    const violations = await playAll({ options, signal, say }, stage, placed);
    await untilQuiet(stage, { signal, say });
    const outage = options.hasOutage
      ? await playOutage({ stage, signal, placed }, { ...options, each: Math.min(OUTAGE_ORDERS, options.each + 1) })
      : undefined;
    if (outage) await untilQuiet(stage, { signal, say });
    await sleep(LAST_EVENTS_MS, undefined, { signal });
    const orders = [...byId.values()];
    const facts = await gatherFacts(stage, orders);
    const untrusted = await countUntrusted(stage, orders);
    violations.push(...checkUntrusted(untrusted), ...(outage?.violations ?? []));
    const ended = facts.flatMap(({ order: { lines }, stored }) => (stored ? [{ status: stored.status, lines }] : []));
    const stock = stockProblems(await stage.records.stock(), initialStock, ended);
    violations.push(...stock.map((says): Violation => ({ kind: 'stock-wrong', says })));
    const money = { ...(await stage.records.money()), ledger: await stage.simulator.ledger() };
    violations.push(...checkAllMoney(money, orders));
    const results = facts.map((one) => ({
      facts: one,
      violations: [...checkEnding(one), ...checkMoney(one), ...checkRecords(one)],
    }));
    return { orders: results, untrusted, outage, violations, tookMs: Date.now() - beganAt };
  } finally {
    await stage.close();
  }
}

function initialStock(sku: string): number {
  return (SKUS as readonly string[]).includes(sku) ? PLENTY : 1;
}

async function playAll(
  { options, signal, say }: Run,
  stage: Stage,
  placed: (order: Placed) => void,
): Promise<Violation[]> {
  const roles = planCast(options);
  say(`${roles.length} orders, seed ${options.seed}`);
  const violations: Violation[] = [];
  const note = (role: Role, playing: Promise<void>): Promise<void> =>
    playing.catch((error: unknown) => {
      violations.push({ kind: 'other', says: `${role.id} could not be played: ${String(error)}` });
    });
  const stories: Promise<void>[] = [];
  const queue = roles.values();
  // Few at once: on a busy machine the placing itself must not eat up the buyers' time.
  const shops = Array.from({ length: SHOPS }, async () => {
    for (const role of queue) {
      const isPlaced = new Promise<void>((resolve) => {
        const play = playOrder({ stage, signal, placed: (order) => (placed(order), resolve()) }, role);
        stories.push(note(role, play).finally(resolve));
      });
      await Promise.all([isPlaced, sleep((SHOPS * 1_000) / options.perSecond, undefined, { signal })]);
    }
  });
  await Promise.all(shops);
  say('all are placed');
  await Promise.all(stories);
  return violations;
}

/** Until nothing is pending, or the limit is reached: what is not finished by then is for the checks to tell. */
async function untilQuiet(stage: Stage, { signal, say }: Pick<Run, 'signal' | 'say'>): Promise<void> {
  const endsAt = Date.now() + QUIET_LIMIT_MS;
  for (let look = 0; Date.now() < endsAt; look += 1) {
    const { outboxRows } = await stage.records.progress();
    const pending = (await readTimeouts(stage.records)).filter(({ state }) => state === 'pending').length;
    // An order without a timeout is never decided: waiting on would not help it.
    if (pending === 0 && outboxRows === 0) return;
    const undecided = (await stage.records.orders()).filter(({ status }) => isUndecided(status)).length;
    if (look % 20 === 0) say(`${undecided} orders undecided, ${pending} timeouts pending`);
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
  const parked = (await readTimeouts(stage.records)).map(({ kind, key, state }) => `${kind} ${key} ${state}`);
  say(`not quiet after ${QUIET_LIMIT_MS / 1_000} s: ${parked.join(', ')}`);
}

function isUndecided(status: string): boolean {
  return status === 'PENDING' || status === 'CLOSING' || status === 'REFUNDING';
}
