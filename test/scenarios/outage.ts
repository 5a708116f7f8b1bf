import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../support/buyers/random';
import { answerOf } from '../support/until';
import { readTimeouts } from './checks/gather-facts';
import { type Violation } from './checks/violation';
import { type Placed } from './playing/placed-order';
import { playOrder, type Playing } from './playing/play-order';
import { type Plan, type ProviderName, type Scenario } from './scenario';

/** How the outage of all providers went. */
export interface OutageResult {
  readonly orders: number;
  readonly downMs: number;
  /** From the providers' return to the last order's end. */
  readonly recoveryMs: number;
  readonly violations: readonly Violation[];
}

const WINDOW_MS = 2_000;
/** After the last deadline: several rounds of questions, and the breakers open. */
const DOWN_AFTER_DEADLINE_MS = 10_000;
/** The longest pause between two questions within the first five minutes is 5 s. */
const RECOVERY_LIMIT_MS = 10_000;
const LIMIT_MS = 60_000;

const OUTAGE: Scenario = {
  name: 'providers-down-all-along',
  says: 'every provider answers 503 from the placing to long after the deadline',
  plan: (random) => planOrder(random.next() < 0.5),
};

function planOrder(isPaid: boolean): Plan {
  const script = { buyer: 'pays-after', ms: 1_000 } as const;
  const payment = { ...(isPaid && { script }), notify: { lost: true } };
  return { windowMs: WINDOW_MS, ends: { status: [isPaid ? 'PAID' : 'CLOSED'] }, payments: [payment] };
}

/** Every provider is down for every order: nothing may close, no attempt may be used up, and all ends soon after. */
export async function playOutage(
  playing: Playing,
  { providers, each, seed }: { providers: readonly ProviderName[]; each: number; seed: number },
): Promise<OutageResult> {
  const { stage, signal } = playing;
  const byId = new Map<string, Placed>();
  const note = { ...playing, placed: (order: Placed) => (byId.set(order.id, order), playing.placed(order)) };
  const beganAt = Date.now();
  await stage.simulator.addFault({ fault: 'error', status: 503 });
  for (const provider of providers) {
    for (let number = 1; number <= each; number += 1) {
      const random = new Random(seed + number);
      const plan = planOrder(number % 2 === 0);
      await playOrder(note, { id: `outage-${provider}-${number}`, scenario: OUTAGE, provider, random, plan });
    }
  }
  const orders = [...byId.values()];
  const isOurs = ({ id }: { readonly id: string }): boolean => byId.has(id);
  const statuses = async () => (await stage.records.orders()).filter(isOurs).map(({ status }) => status);
  await answerOf('the closing of every order', LIMIT_MS, signal, async () =>
    (await statuses()).every((status) => status !== 'PENDING') ? true : undefined,
  );
  // Not waiting for anything: nothing is what has to happen in this time.
  await sleep(DOWN_AFTER_DEADLINE_MS, undefined, { signal });
  const violations = [...checkStatuses(await statuses()), ...(await checkAttempts(playing, orders))];
  await stage.simulator.clearFaults();
  const downMs = Date.now() - beganAt;
  const backAt = Date.now();
  await answerOf('the end of every order', LIMIT_MS, signal, async () =>
    (await statuses()).every((status) => status !== 'CLOSING') ? true : undefined,
  );
  const recoveryMs = Date.now() - backAt;
  if (recoveryMs > RECOVERY_LIMIT_MS) violations.push({ kind: 'other', says: `recovery took ${recoveryMs} ms` });
  return { orders: orders.length, downMs, recoveryMs, violations };
}

function checkStatuses(statuses: readonly string[]): Violation[] {
  const wrong = statuses.filter((status) => status !== 'CLOSING');
  return wrong.map((status) => ({ kind: 'other', says: `an order became ${status} while its provider was down` }));
}

async function checkAttempts({ stage }: Playing, orders: readonly Placed[]): Promise<Violation[]> {
  const timeouts = (await readTimeouts(stage.records)).filter(({ key }) => orders.some(({ id }) => id === key));
  const used = timeouts.filter(({ attempts, state }) => attempts > 0 || state === 'parked');
  return used.map(({ key, attempts, state, lastError }) => {
    return { kind: 'other', says: `${key}: ${attempts} attempts used up, ${state} (${lastError ?? 'no error'})` };
  });
}
