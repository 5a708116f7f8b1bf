import { type Random } from '../../../test/support/buyers/random';
import { type BuyerGroup } from './buyer-group';
import { type PlannedFault, type PlannedOrder } from './planned-order';

/** What makes an order one of its group. */
export type BuyerScript = Pick<PlannedOrder, 'windowMs' | 'payment' | 'action'>;

/** Deadlines of 2 to 10 s. */
const SHORTEST_MS = 2_000;
const LONGEST_MS = 10_000;

const windowOf = (random: Random): number => random.between(SHORTEST_MS, LONGEST_MS);

/** @param ordinal the number of the order within its group; decides between the variants of a group. */
export function scriptBuyer(group: BuyerGroup, ordinal: number, random: Random): BuyerScript {
  return SCRIPTS[group](random, ordinal);
}

const SCRIPTS: Record<BuyerGroup, (random: Random, ordinal: number) => BuyerScript> = {
  'pays-early': (random) => {
    const windowMs = windowOf(random);
    const paysAtMs = random.between(300, windowMs - 1_000);
    // The shop learns of it from its own payment page, a little after the money moved.
    return { windowMs, payment: { paysAtMs, faults: [] }, action: { type: 'report-paid', atMs: paysAtMs + 100 } };
  },
  'pays-last-100ms': (random) => {
    const windowMs = windowOf(random);
    // The notification comes before the deadline or after it, while the service may be asking the provider already.
    const notify = { notify: 'sent', notifyDelayMs: random.between(0, 300) } as const;
    return { windowMs, payment: { paysAtMs: windowMs - random.between(1, 100), ...notify, faults: [] } };
  },
  'notify-lost': (random) => {
    const windowMs = windowOf(random);
    return { windowMs, payment: { paysAtMs: random.between(200, windowMs - 100), notify: 'lost', faults: [] } };
  },
  'never-starts': (random) => ({ windowMs: windowOf(random) }),
  'never-pays': (random) => ({ windowMs: windowOf(random), payment: { faults: [] } }),
  'provider-slow': (random, ordinal) => {
    const phase = Math.floor(ordinal / 2) % 2 === 0 ? 'before-effect' : 'after-effect';
    return inTrouble(random, ordinal, [{ fault: 'latency', ms: random.between(300, 900), phase }]);
  },
  'provider-failing': (random, ordinal) => {
    const windowMs = windowOf(random);
    const fault = FAILURES[Math.floor(ordinal / 2) % FAILURES.length] ?? 'error';
    // Around the deadline, so that the first questions meet it and a later one finds the provider well again.
    const faults = [{ fault, afterMs: windowMs - 500, forMs: random.between(1_500, 3_500) }];
    return inTrouble(random, ordinal, faults, windowMs);
  },
  cancels: (random, ordinal) => {
    const action = { type: 'cancel', atMs: random.between(500, 2_000) } as const;
    const windowMs = random.between(6_000, LONGEST_MS);
    // With the payment page open it must be closed at the provider first.
    return ordinal % 2 === 0 ? { windowMs, action } : { windowMs, action, payment: { faults: [] } };
  },
  extended: (random, ordinal) => {
    const windowMs = random.between(5_000, 7_000);
    const action = { type: 'move-deadline', atMs: random.between(500, 1_000), toMs: windowMs + 3_000 } as const;
    // Half of them pay after the first deadline, and nobody tells the shop.
    const paysAtMs = windowMs + random.between(500, 2_500);
    const payment = { ...(ordinal % 2 === 0 ? { paysAtMs, notify: 'lost' as const } : {}), faults: [] };
    return { windowMs, action, payment };
  },
  shortened: (random) => ({
    windowMs: random.between(8_000, LONGEST_MS),
    action: { type: 'move-deadline', atMs: random.between(500, 1_000), toMs: random.between(2_500, 4_000) },
    payment: { faults: [] },
  }),
  'pays-too-late': (random) => {
    const windowMs = windowOf(random);
    return { windowMs, payment: { paysAtMs: windowMs + random.between(2_000, 3_000), faults: [] } };
  },
};

const FAILURES = ['error', 'drop', 'lost-response', 'wrong-signature'] as const;

/** Half of those whose provider is in trouble have paid, and nobody but the provider knows. */
function inTrouble(
  random: Random,
  ordinal: number,
  faults: readonly PlannedFault[],
  windowMs = windowOf(random),
): BuyerScript {
  const paysAtMs = windowMs - random.between(200, 1_000);
  return { windowMs, payment: { ...(ordinal % 2 === 0 ? { paysAtMs, notify: 'lost' } : {}), faults } };
}
