import { type OrderPolicyOptions } from '../../src/orders/model/order-policies';
import { type ProviderTraits } from './model-provider';
import { ACCOUNT, type Knowledge } from './processes';
import { type Random } from './random';
import { type MessagePlan } from './wake-ups';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** What is drawn once for a whole run; the rest is drawn as it happens. */
export interface RunPlan {
  readonly policy: OrderPolicyOptions;
  readonly windowMs: number;
  readonly orders: number;
  readonly stock: number;
  readonly messages: MessagePlan;
  /** Share of steps at which a worker dies. */
  readonly crashes: number;
  /** Share of notifications that get lost. */
  readonly notifyLoss: number;
  readonly providers: readonly ProviderTraits[];
  /** Merchant accounts, the second one's for the second order; two number their payments alike. */
  readonly accounts: readonly (string | null)[];
  /** Share of the payments that the shop reports by itself. */
  readonly reports: number;
  /** Share of the payments that the provider has a name of its own for. */
  readonly intents: number;
  /** Notifications say only that something has changed. */
  readonly changeOnly: boolean;
  /** Orders that no deadline closes. */
  readonly autoClose: boolean;
  /** Payment attempts of an order, where it has more than a few. */
  readonly manyAttempts: number | undefined;
  /** People work off the list of unmatched payments: they assign, and they pay back by wire. */
  readonly clerks: boolean;
  /** They do so all the time, and not only once an order is due. */
  readonly eager: boolean;
  /** Orders are erased and purged, and so is what was settled. */
  readonly forgets: boolean;
  /** Reports name payments of other orders. */
  readonly lies: boolean;
  /** Half of them name a part of the price. */
  readonly liesInPart: boolean;
  /** Orders belong to different merchants, who do not share references. */
  readonly merchants: boolean;
  /** A reference takes money more than once, as the account of a bank does. */
  readonly openReferences: boolean;
  readonly knowledge: Knowledge;
  readonly gainsAtMs: number;
  /** Share of notifications whose amount or currency cannot be. */
  readonly oddAmounts: number;
  /** Nothing is closed meanwhile: the kind is paused, or no process runs. */
  readonly pause: { readonly fromMs: number; readonly toMs: number } | undefined;
  /** Some payments are notified or reported before their order is placed. */
  readonly early: boolean;
  /** Buyers pay by direct debit, of which the provider says for days that it is on its way. */
  readonly debits: boolean;
}

/** What is drawn in every run. Weaker variants draw the others, which show only what they do wrong. */
export const LIVE: ReadonlySet<Dimension> = new Set<Dimension>([
  'early',
  'auto',
  'refunds',
  'lies',
  'clerks',
  'forgets',
  'open',
  'accounts',
  'odd',
  'pause',
  'eager',
  'parts',
  'debits',
]);

export type Dimension =
  | 'clerks'
  | 'eager'
  | 'forgets'
  | 'lies'
  | 'parts'
  | 'reports'
  | 'open'
  | 'accounts'
  | 'odd'
  | 'pause'
  | 'early'
  | 'debits'
  | 'refunds'
  | 'auto';

/** Draws a world: most of it healthy, some of it very ill. */
export function drawRunPlan(random: Random, startMs: number, draws: readonly Dimension[] = []): RunPlan {
  const windowMs = random.pick([2, random.between(MINUTE, 4 * MINUTE)], [1, random.between(4 * MINUTE, 30 * MINUTE)]);
  const names = random.chance(0.5) ? ['p1'] : ['p1', 'p2'];
  const isCrowded = random.chance(0.02);
  // Else sound: of so many answers one is missing in nearly every round, if each may be.
  const calls = isCrowded ? { calls: { burst: 5, perMinute: 60 }, faults: 0, losses: 0, outages: [] } : {};
  const isLive = (name: Dimension): boolean => LIVE.has(name) || draws.includes(name);
  const is = (name: Dimension, share: number): boolean =>
    random.chance(draws.includes(name) ? 0.5 : share) && isLive(name);
  const lies = is('lies', 0.1);
  const knowledge = random.pick<Knowledge>([90, 'all'], [5, 'lacking'], [5, 'gaining']);
  const pause = drawPause(random, startMs + windowMs, is('pause', 0.02));
  const forgets = is('forgets', 0.08);
  const failing = is('refunds', 0.08) ? { failingRefunds: 0.6 } : { failingRefunds: 0 };
  const weak = pause && !isCrowded ? { faults: 0.5 } : {};
  return {
    policy: {
      graceMs: random.pick([1, 0], [1, 5 * SECOND]),
      graceMsByProvider: random.chance(0.2) ? { p2: 10 * SECOND } : {},
      reminderOffsetsMs: [],
      latePayment: random.pick([60, 'revive-if-stock'], [34, 'refund'], [6, 'keep']),
      surplusPayment: random.pick([95, 'refund'], [5, 'keep']),
      partialPayment: random.pick([90, 'refund-and-close'], [10, 'park']),
    },
    windowMs,
    orders: random.chance(lies ? 1 : 0.3) ? 2 : 1,
    stock: random.chance(lies ? 0.1 : 0.7) ? 1 : 2,
    messages: {
      loss: random.pick([6, 0], [3, 0.2], [1, 1]),
      duplicates: random.pick([1, 0], [1, 0.3]),
      delayMs: random.pick([3, 50], [1, 8 * SECOND]),
      early: random.pick([9, 0], [1, 0.3]),
    },
    crashes: random.pick([6, 0], [3, 0.03], [1, 0.15]),
    notifyLoss: random.pick([4, 0.05], [3, 0.5], [3, 1]),
    providers: names.map((name) => ({
      ...drawProvider(name, random, startMs, startMs + windowMs),
      ...calls,
      ...failing,
      ...weak,
    })),
    ...drawAccounts(random, startMs, windowMs, isLive('accounts') ? knowledge : 'all'),
    reports: draws.includes('reports') ? 0.9 : random.pick([2, 0], [1, 0.6]),
    intents: random.pick([2, 0], [1, 0.7]),
    changeOnly: random.chance(0.1),
    autoClose: random.chance(isLive('auto') ? 0.9 : 0.94),
    manyAttempts: isCrowded ? random.between(14, 18) : undefined,
    clerks: is('clerks', forgets ? 0.7 : 0.2),
    // By a number that is drawn anyway, so that older seeds keep their worlds.
    eager: draws.includes('eager') || (isLive('eager') && windowMs % 2 === 0),
    forgets,
    lies,
    liesInPart: draws.includes('parts') || (isLive('parts') && windowMs % 4 < 2),
    merchants: random.chance(0.5),
    openReferences: is('open', 0.08) && !lies,
    oddAmounts: is('odd', 0.03) ? 0.7 : 0,
    pause,
    early: is('early', 0.1) && !lies,
    // Days of look-ups, each minute one, are many steps.
    debits: isLive('debits') && !isCrowded && windowMs % (draws.includes('debits') ? 8 : 64) === 3,
  };
}

function drawAccounts(
  random: Random,
  startMs: number,
  windowMs: number,
  knowledge: Knowledge,
): Pick<RunPlan, 'accounts' | 'knowledge' | 'gainsAtMs'> {
  const gainsAtMs = startMs + random.between(0, windowMs + 10 * MINUTE);
  if (knowledge !== 'all') return { accounts: [ACCOUNT], knowledge, gainsAtMs };
  return { accounts: random.chance(0.15) ? ['m1', 'm2'] : [null], knowledge, gainsAtMs };
}

function drawPause(random: Random, deadlineMs: number, isPaused: boolean): RunPlan['pause'] {
  const fromMs = deadlineMs + random.between(-MINUTE, 5 * SECOND);
  const toMs = fromMs + random.between(HOUR, 30 * HOUR);
  return isPaused ? { fromMs, toMs } : undefined;
}

function drawProvider(name: string, random: Random, startMs: number, deadlineMs: number): ProviderTraits {
  const rate = (): number => random.pick([6, 0], [3, 0.05], [1, 0.35]);
  return {
    name,
    queryLagMs: random.pick([6, 0], [2, 2 * SECOND], [2, 20 * SECOND]),
    faults: rate(),
    losses: rate(),
    outages: drawOutages(random, startMs, deadlineMs),
    slowRefunds: random.pick([3, 0], [1, 0.5]),
    failingRefunds: 0,
    refundsFromMs: random.pick([19, 0], [1, deadlineMs + random.between(0, 3 * HOUR)]),
    // Its margin of a minute has to cover the difference of the clocks.
    clockAheadMs: random.pick([1, 0], [1, random.between(-20 * SECOND, 20 * SECOND)]),
    tellsTime: random.chance(0.5),
  };
}

function drawOutages(random: Random, startMs: number, deadlineMs: number): ProviderTraits['outages'] {
  const lengthMs = random.pick(
    [85, 0],
    [11, random.between(2 * SECOND, 2 * MINUTE)],
    [3, random.between(2 * MINUTE, 2 * HOUR)],
    [0.1, random.between(20 * HOUR, 27 * HOUR)],
  );
  if (lengthMs === 0) return [];
  const fromMs = random.pick(
    [7, deadlineMs + random.between(-10 * SECOND, 10 * SECOND)],
    [2, random.between(startMs, deadlineMs)],
    // Just when ended orders are looked at for the last time.
    [1, deadlineMs + 25 * HOUR - MINUTE],
  );
  return [{ fromMs, toMs: fromMs + lengthMs }];
}
