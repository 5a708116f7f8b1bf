import { setTimeout as sleep } from 'node:timers/promises';
import { type Stage } from '../stage/open-stage';
import { type EventRecord, UNSENDABLE } from '../stream/event-record';

interface Left {
  readonly orders: number;
  readonly timeouts: number;
  readonly outbox: number;
}

const LOOK_EVERY_MS = 500;
/** Confirmed events are with the subscriber in milliseconds. */
const STILL_MS = 2_000;
/** An operator looks at what is still open then. */
const MEND_AFTER_MS = 60_000;

/** Waits until nothing is open any more and no event comes. @returns what is left after `limitMs`, or undefined. */
export async function untilDrained(
  stage: Stage,
  events: EventRecord,
  { limitMs, hasBroker, missing, mend, signal }: DrainPlan,
): Promise<string | undefined> {
  const beganAt = performance.now();
  let isMended = false;
  let stillSince = performance.now();
  let before = -1;
  for (;;) {
    const left = await look(stage, await missing());
    const isEmpty = left.orders === 0 && left.timeouts === 0 && (left.outbox === 0 || !hasBroker);
    if (!isEmpty || events.count !== before) stillSince = performance.now();
    before = events.count;
    if (performance.now() - stillSince > STILL_MS) return undefined;
    if (performance.now() > beganAt + limitMs) {
      const of = await messagesLeft(stage);
      return `${left.orders} orders, ${left.timeouts} timeouts, ${left.outbox} messages ${of}`;
    }
    if (!isMended && performance.now() > beganAt + MEND_AFTER_MS) {
      isMended = true;
      await mend();
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal });
  }
}

interface DrainPlan {
  readonly limitMs: number;
  /** Without one the outbox never empties. */
  readonly hasBroker: boolean;
  /** Orders that were accepted and are not there yet. */
  readonly missing: () => Promise<number>;
  /** What a person does who reads the runbook. */
  readonly mend: () => Promise<void>;
  readonly signal: AbortSignal;
}

async function look({ database }: Stage, missing: number): Promise<Left> {
  const [row] = await database.query<Left>(
    `SELECT (SELECT count(*)::int FROM order_timeout.orders WHERE status IN ('PENDING', 'CLOSING', 'REFUNDING')) AS orders,
            (SELECT count(*)::int FROM order_timeout.timeout WHERE state = 'pending') AS timeouts,
            (SELECT count(*)::int FROM order_timeout.outbox WHERE routing_key NOT LIKE '${UNSENDABLE}%') AS outbox`,
  );
  if (!row) throw new Error('no answer from the database');
  return { ...row, orders: row.orders + missing };
}

/** For whoever looks for the cause. */
async function messagesLeft({ database }: Stage): Promise<string> {
  const rows = await database.query<{ says: string }>(
    `SELECT count(*) || ' of ' || route || ' ' || routing_key || ', tried ' || max(attempts) || ' times' AS says
       FROM order_timeout.outbox WHERE routing_key NOT LIKE '${UNSENDABLE}%' GROUP BY route, routing_key`,
  );
  return `(${rows.map(({ says }) => says).join('; ')})`;
}
