import { CURRENCY, PRICE } from './habits';
import { type Kernel } from './kernel';
import { type SimulatedBroker } from './simulated-broker';
import { type Stage } from './stage';

const SECOND = 1_000;

const ORDERS = 14;

const LOSING = 0.9;

/** The sweep's interval, its margin, and a tick, doubled where one just missed the row, and a rest for its transaction. */
const LONGEST_MS = 30 * SECOND;

/** Less than the margin of a sweep. What wakes by itself, or by the clock, is faster. */
const LATE_MS = 2 * SECOND;

/** Of one kind, a sweep misses two times until it suspects the path, and one time after it trusts it again. */
const MISSES = 3;

/** Of any process: its own first look, and what was due while the path was tried. */
const MORE = 3;

/**
 * When nothing else is wrong, the broker loses nearly all wake-ups, and orders come one after the other. Each is decided within
 * a sweep, and soon, the sweep is the clock.
 */
export async function steadyProblems(kernel: Kernel, stage: Stage, broker: SimulatedBroker): Promise<string[]> {
  kernel.delay(0);
  // What was set before that is late.
  await kernel.run(kernel.time.now + 240 * SECOND);
  kernel.say('the broker loses wake-ups');
  kernel.time.gridMs = 1;
  broker.losing = LOSING;
  for (let number = 1; number <= ORDERS; number++) {
    stage.send(() => place(stage, `t${number}`));
    await kernel.run(kernel.time.now + 7 * SECOND);
  }
  await kernel.run(kernel.time.now + 40 * SECOND);
  broker.calmDown();
  const rows = await kernel.query<{ id: string; lateMs: number }>(LATENESS);
  const late = rows.filter(({ lateMs }) => lateMs > LATE_MS);
  kernel.say(`late: ${rows.map(({ id, lateMs }) => `${id} ${lateMs}`).join(', ')}`);
  const limit = MISSES * stage.instances.filter(({ answers }) => answers).length + MORE;
  return [
    ...rows.filter(({ lateMs }) => lateMs > LONGEST_MS).map(({ id, lateMs }) => `${id} was decided ${lateMs} ms late`),
    ...(late.length > limit ? [`${late.length} of ${rows.length} orders were decided late`] : []),
  ];
}

async function place(stage: Stage, id: string): Promise<void> {
  const order = { id, amount: PRICE, currency: CURRENCY, lines: [] };
  const placed = await stage.ask(`the shop places ${id}`, (orders) => orders.place(order));
  if (placed && placed.outcome !== 'rejected') stage.lines.set(id, []);
}

const LATENESS = `
  SELECT o.id, (extract(epoch FROM coalesce(o.closed_at, sim.clock_timestamp()) - o.expires_at) * 1000)::int - o.grace_ms AS "lateMs"
    FROM order_timeout.orders o WHERE o.id LIKE 't%' ORDER BY o.expires_at`;
