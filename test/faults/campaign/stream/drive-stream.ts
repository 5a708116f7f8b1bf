import { setTimeout as sleep } from 'node:timers/promises';
import { type PaymentInput } from 'nestjs-order-timeout-payment-simulator';
import { type SimulatorClient } from '../../../support/servers/simulator-client';
import { PROVIDER } from '../../../support/servers/simulator-process';
import { type Answer, ShopCaller } from '../../../support/shop/shop-caller';
import { type Stage } from '../stage/open-stage';
import { type BrokerLink } from './broker-link';
import { CURRENCY, hasAttempt, planOrder, type PlannedOrder, PLENTY, SKUS, UNIT_AMOUNT } from './plan-order';

interface Stream {
  readonly seed: number;
  /** At least. */
  readonly orders: number;
  /** More orders come until it resolves, so that no fault falls upon a service without work. */
  readonly faults: Promise<void>;
  /** Orders per second. */
  readonly rate: number;
  readonly shop: ShopCaller;
  readonly link: BrokerLink;
  readonly simulator: SimulatorClient;
  /** Then every order comes by HTTP. */
  readonly isBrokerDead: boolean;
  readonly signal: AbortSignal;
}

/** What the shops have seen. */
export interface StreamResult {
  /** How many orders they tried to place. */
  readonly placed: number;
  /** Numbers of the orders whose placing was accepted, or confirmed by the broker: these must end. */
  readonly accepted: ReadonlySet<number>;
  /** Anything a shop was refused that it should not have been. */
  readonly refusals: readonly string[];
}

/** Faults that wait for each other may take longer than the orders; a fault that never ends shall not keep the run. */
const MOST_TIMES = 3;

/** What a buyer may hear when he is too late. */
const TOO_LATE = new Set(['ORDER_EXPIRED', 'ORDER_NOT_CANCELLABLE', 'ORDER_NOT_PENDING', 'DEADLINE_OUT_OF_RANGE']);

/** A shop that has plenty of every article, and asks whichever instance runs. */
export async function openShop({ database, instances, apiKey }: Stage, signal: AbortSignal): Promise<ShopCaller> {
  const values = SKUS.map((_, index) => `($${index + 2}, $1)`).join(', ');
  await database.query(`INSERT INTO order_timeout.inventory (sku, on_hand) VALUES ${values}`, [PLENTY, ...SKUS]);
  return new ShopCaller({
    urls: () => instances.filter(({ isRunning }) => isRunning).map(({ url }) => url),
    ...{ apiKey, signal, requestLimitMs: 3_000, pauseMs: 300 },
    // Longer than any fault of the plan, also where six programs share each core.
    patienceMs: 300_000,
    isTemporary: (status) => status >= 500 || status === 429,
  });
}

/** Places every order at its time and lets buyers act. Ends when all have acted. */
export async function driveStream(stream: Stream): Promise<StreamResult> {
  const accepted = new Set<number>();
  const refusals: string[] = [];
  const running = new Set<Promise<void>>();
  let areFaultsOver = false;
  const stop = (): boolean => (areFaultsOver = true);
  void stream.faults.then(stop, stop);
  const beganAt = performance.now();
  let number = 0;
  for (; number < stream.orders || (!areFaultsOver && number < stream.orders * MOST_TIMES); number += 1) {
    const wait = beganAt + (number * 1_000) / stream.rate - performance.now();
    if (wait > 1) await sleep(wait, undefined, { signal: stream.signal });
    const one = playOrder(stream, number, accepted)
      .catch((error: unknown) => {
        if (stream.signal.aborted) return;
        const cause = error instanceof Error && error.cause ? ` (${JSON.stringify(error.cause)})` : '';
        refusals.push(`${String(error)}${cause}`);
      })
      .finally(() => running.delete(one));
    running.add(one);
  }
  await Promise.all(running);
  stream.signal.throwIfAborted();
  return { placed: number, accepted, refusals };
}

async function playOrder(stream: Stream, number: number, accepted: Set<number>): Promise<void> {
  const order = planOrder(stream.seed, number);
  const placedAt = Date.now();
  if (hasAttempt(order)) await stream.simulator.create(paymentOf(order, placedAt));
  const body = bodyOf(order);
  if (order.channel === 'amqp' && !stream.isBrokerDead) await stream.link.command('order.placed', body, stream.signal);
  else expectAccepted(await stream.shop.send('POST', '/orders', body), 'placing');
  accepted.add(number);
  await act(stream, order, placedAt);
}

async function act({ shop, link, isBrokerDead, signal }: Stream, order: PlannedOrder, placedAt: number): Promise<void> {
  const { deed } = order;
  if (!('atMs' in deed) || (deed.type === 'pays' && !deed.isReported)) return;
  await sleep(Math.max(placedAt + deed.atMs - Date.now(), 0), undefined, { signal });
  const path = `/orders/${order.id}`;
  switch (deed.type) {
    case 'cancel':
      return expectAccepted(await shop.send('POST', `${path}/cancel`, {}), 'cancelling', order.channel);
    case 'extend': {
      const expiresAt = new Date(placedAt + deed.toMs).toISOString();
      return expectAccepted(await shop.send('POST', `${path}/extend`, { expiresAt }), 'extending', order.channel);
    }
    case 'pays': {
      const payment = { provider: PROVIDER, reference: order.id, amount: order.amount, currency: CURRENCY };
      if (order.channel === 'amqp' && !isBrokerDead)
        return link.command('order.paid', { orderId: order.id, ...payment }, signal);
      return expectAccepted(await shop.send('POST', `${path}/paid`, payment), 'reporting', order.channel);
    }
  }
}

/** A command may still be on its way when the buyer wants something else of its order. */
function expectAccepted(answer: Answer, what: string, channel = 'http'): void {
  if (answer.type === 'accepted' || TOO_LATE.has(answer.code)) return;
  if (channel === 'amqp' && answer.code === 'ORDER_NOT_FOUND') return;
  throw new Error(`${what} was refused: ${answer.code}`);
}

function bodyOf(order: PlannedOrder): object {
  return {
    ...{ id: order.id, amount: order.amount, currency: CURRENCY, paymentWindowMs: order.windowMs },
    lines: order.lines.map((line) => ({ ...line, unitAmount: UNIT_AMOUNT })),
    ...(hasAttempt(order) && { attempt: { provider: PROVIDER, reference: order.id } }),
  };
}

function paymentOf({ id, amount, deed }: PlannedOrder, placedAt: number): PaymentInput {
  const payment = { reference: id, orderId: id, amount, currency: CURRENCY };
  if (deed.type === 'pays') return { ...payment, script: { buyer: 'pays-at', at: placedAt + deed.atMs } };
  if (deed.type === 'pays-after-close') {
    return { ...payment, closeLies: true, script: { buyer: 'pays-after-close', ms: 800 } };
  }
  return payment;
}
