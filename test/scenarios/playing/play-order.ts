import { setTimeout as sleep } from 'node:timers/promises';
import { type Random } from '../../../examples/demo/buyers/random';
import { until } from '../../../examples/demo/servers/until';
import { type OrderStatus } from '../../../src/orders';
import { type Plan, type ProviderName, type Scenario } from '../scenario';
import { httpJson } from '../stage/http-json';
import { type Stage } from '../stage/open-stage';
import { type Cast } from './cast';
import { handMadeNotification } from './hand-made-notification';
import { attemptOf, placeOrder } from './place-order';
import { type Placed, type PlacedPayment } from './placed-order';
import { stretchPlan } from './stretch-plan';
import { TooLateError } from './too-late-error';

/** One order to be played. */
export interface Role {
  readonly id: string;
  readonly scenario: Scenario;
  readonly provider: ProviderName;
  readonly plan: Plan;
  readonly random: Random;
}

export interface Playing {
  readonly stage: Stage;
  readonly signal: AbortSignal;
  /** Called for every order that was placed, rivals included; again when it turned out to be too late. */
  readonly placed: (order: Placed) => void;
}

/** The longest: a refund is given up after 82 s of refusals. */
const STEP_LIMIT_MS = 150_000;

/** Each of them gives everybody twice as much time. */
const MOST_TRIES = 5;

/**
 * Places an order and plays what shop and buyer do about it; again with another order where the machine was too busy.
 * Rejects when a step could not be played.
 */
export async function playOrder(playing: Playing, role: Role, lines?: Placed['lines']): Promise<void> {
  let factor = 1;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1, factor *= 2) {
    const id = tries === 1 ? role.id : `${role.id}-try${tries}`;
    const stretched = { ...role, id, plan: stretchPlan(role.plan, factor) };
    const order = await placeOrder(playing.stage, { ...stretched, ...(lines && { lines }) });
    playing.placed(order);
    if (await act(playing, stretched, order, factor)) return;
    playing.placed({ ...order, isTooLate: true });
  }
  throw new Error(`the machine was too busy ${MOST_TRIES} times`);
}

/** @returns false: there was no time for the story. */
async function act(playing: Playing, role: Role, order: Placed, factor: number): Promise<boolean> {
  const cast = castOf(playing, role, order, factor);
  if (order.isTooLate) {
    await role.plan.breakOff?.(cast);
    return false;
  }
  try {
    await role.plan.act?.(cast);
    return true;
  } catch (error) {
    if (error instanceof TooLateError) return false;
    throw error;
  }
}

function castOf(playing: Playing, role: Role, order: Placed, factor: number): Cast {
  const { stage, signal } = playing;
  const { simulator, records } = stage;
  const paymentAt = (index: number): PlacedPayment => at(order.payments, index);
  const shop = at(stage.shops, 0);
  const wait = <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> =>
    until(`${what} of ${order.id}`, STEP_LIMIT_MS, signal, ask);
  return {
    order,
    random: role.random,
    at: (ms) => sleep(Math.max(0, order.placedAt + ms * factor - Date.now()), undefined, { signal }),
    after: (ms) => sleep(ms, undefined, { signal }),
    untilStatus: (...wanted) =>
      wait(wanted.join(' or '), async () => {
        const status = (await records.execute(statusSql(order.id))) as { status: OrderStatus }[];
        return wanted.find((one) => one === status[0]?.status);
      }),
    untilLedger: (index, what, holds) =>
      wait(what, async () => {
        const { reference } = paymentAt(index);
        const entry = (await simulator.ledger()).find((one) => one.reference === reference);
        return entry && holds(entry) ? entry : undefined;
      }),
    pay: (index) => simulator.pay(paymentAt(index).provider, paymentAt(index).reference),
    register: async (index) => inTime(await shop.tryRegister(order.id, attemptOf(paymentAt(index)))),
    cancel: async () => void (await shop.cancel(order.id)),
    extend: async (byMs) => inTime(await shop.tryExtend(order.id, byMs * factor)),
    placeRival: (plan) => playOrder(playing, { ...role, id: `${order.id}-rival`, plan }, order.lines),
    postByHand: async (index, flaw) => {
      const payment = paymentAt(index);
      const { headers, body } = handMadeNotification(stage.merchants, { ...order, payment, flaw });
      const { status } = await httpJson('POST', `${shop.url}/payments/${payment.provider}/notify`, body, headers);
      return status < 300;
    },
    untilParked: async () => {
      await wait('parked timeout', async () => ((await parkedOf(stage, order)).length > 0 ? true : undefined));
    },
    replayParked: async () => shop.replay(await parkedOf(stage, order)),
    closeByHand: async (index) => {
      const { reference, ownerAccount } = paymentAt(index);
      const key = stage.merchants.stripe[ownerAccount]?.secretKey ?? '';
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' };
      const url = `${simulator.url}/stripe/v1/payment_intents/${reference}/cancel`;
      return (await httpJson('POST', url, '', headers)).status === 200;
    },
  };
}

function inTime(isAccepted: boolean): void {
  if (!isAccepted) throw new TooLateError('the order is past its deadline');
}

/** The order's own timeouts, and those of its refunds. */
async function parkedOf({ records }: Stage, { id }: Placed): Promise<{ kind: string; key: string }[]> {
  const refunds = `SELECT number FROM order_timeout.refund WHERE order_id = '${id}'`;
  const sql = `SELECT kind, key FROM order_timeout.timeout
                WHERE state = 'parked' AND (key = '${id}' OR key IN (${refunds}))`;
  return (await records.execute(sql)) as { kind: string; key: string }[];
}

/** Order ids are ours: letters, digits and dashes. */
function statusSql(id: string): string {
  return `SELECT status FROM order_timeout.orders WHERE id = '${id}'`;
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no number ${index}`);
  return item;
}
