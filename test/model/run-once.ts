import { checkEnd, type Violation } from './check-end';
import { isParkedForReason } from './needs-person';
import { sendOperator, workOffMoney } from './operator';
import { sendPeople } from './people';
import { Shop } from './shop';
import { offerAttempts } from './till';
import { type AttemptKey } from '../../src/orders/model/order';
import { payBeforePlacing } from './early-bird';
import { sendArchivist } from './archivist';
import { sendClerk } from './clerk';
import { sendLiar } from './liar';
import { type Wiring } from './wiring';

/** How one run ended. */
export interface RunResult {
  readonly violations: readonly Violation[];
  /** Timeouts that wait for a person for good reason. */
  readonly parked: number;
  readonly steps: number;
  readonly trace: readonly string[];
}

/** Five times what the worst run has needed: a day-long outage, three timeouts that poll through it, workers that die all the time. */
const MAX_STEPS = 300_000;
const MAX_MS = 20 * 86_400_000;
const HOUR_MS = 3_600_000;
/** So often an operator works off the parked timeouts, once everything else has come to rest. */
const REPLAYS = 6;

/** One order, or two that want the same goods, from placing to the end of everything that follows. */
export function runOnce(seed: number, wiring: Wiring, isTraced = false): RunResult {
  const shop = new Shop(seed, wiring, isTraced);
  open(shop);
  let steps = 0;
  let replays = 0;
  const noted: Violation[] = [];
  const { agenda, engine, trace } = shop.world;
  try {
    for (; steps < MAX_STEPS && shop.elapsedMs < MAX_MS; steps++) {
      if (agenda.step()) continue;
      if (replays++ === REPLAYS || !engine.hasParked) break;
      if (replays === 1) noted.push(...needlesslyParked(shop));
      agenda.after(HOUR_MS, () => workOffParked(shop));
    }
  } catch (error) {
    noted.push({ type: 'fault', text: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
  const { violations, parked } = checkEnd(shop);
  return { violations: [...noted, ...shop.noted, ...violations], parked, steps, trace: trace.lines };
}

/** By then every buyer is gone, so what has no limit can be given one. */
function workOffParked(shop: Shop): void {
  const { store, engine, agenda, random } = shop.world;
  for (const { id } of store.all()) store.limitTime(id, agenda.now);
  engine.replayParked();
  if (random.chance(0.5)) for (const { id } of store.all()) workOffMoney(shop, id);
}

/** A person is for what only a person can decide, and for a provider that is unavailable all day. */
function needlesslyParked(shop: Shop): Violation[] {
  const rows = shop.world.engine.table.all().filter((row) => row.state === 'parked' && !isParkedForReason(shop, row));
  return rows.map(({ kind, key, lastError }) => ({ type: 'endless', text: `${kind} ${key} was parked: ${lastError}` }));
}

function open(shop: Shop): void {
  const { agenda, random } = shop.world;
  visit(shop, 'o1');
  if (shop.plan.orders < 2) return;
  const waitMs = shop.plan.stock > 1 ? random.between(0, shop.plan.windowMs) : shop.plan.windowMs;
  agenda.after(waitMs + random.between(0, 180_000), () => visit(shop, 'o2'));
}

function visit(shop: Shop, orderId: string): void {
  if (!shop.plan.early || shop.world.random.chance(0.3)) return order(shop, orderId);
  payBeforePlacing(shop, orderId, (key) => order(shop, orderId, key));
}

function order(shop: Shop, orderId: string, key?: AttemptKey): void {
  if (!shop.place(orderId, key)) return;
  offerAttempts(shop, orderId);
  sendPeople(shop, orderId);
  sendOperator(shop, orderId);
  sendClerk(shop, orderId);
  sendArchivist(shop, orderId);
  if (orderId === 'o2') sendLiar(shop, 'o2', 'o1');
}
