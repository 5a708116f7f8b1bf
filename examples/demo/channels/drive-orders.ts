import { setTimeout as sleep } from 'node:timers/promises';
import { type PaymentInput } from 'nestjs-order-timeout-payment-simulator';
import { type SimulatorClient } from '../../../test/support/servers/simulator-client';
import { PROVIDER } from '../../../test/support/servers/simulator-process';
import { type DrivenOrder, type PlannedAction, referenceOf } from '../buyers/planned-order';
import { type RefusalFact } from '../checking/facts';
import { RefusedError } from './refused-error';
import { type ShopChannels } from './shop-channel';

export interface Stage {
  readonly channels: ShopChannels;
  readonly simulator: SimulatorClient;
  /** Where the provider tells the shop of a payment. */
  readonly notifyUrl: (orderId: string) => string;
  readonly notifyHeaders: Readonly<Record<string, string>>;
  /** The database's clock minus ours, milliseconds: deadlines are the database's. */
  readonly databaseAheadMs: number;
  readonly signal: AbortSignal;
  /** Called as each order is placed. */
  readonly onPlaced: () => void;
}

const CURRENCY = 'EUR';

/**
 * Places every order at its time and lets its shop act. Ends when all have been placed and acted upon.
 *
 * @returns what shops were refused, or got no answer to.
 */
export async function driveOrders(orders: readonly DrivenOrder[], stage: Stage): Promise<RefusalFact[]> {
  const startedAt = Date.now();
  const refusals = await Promise.all(
    orders.map(async (order) => {
      try {
        await sleep(Math.max(startedAt + order.placeAtMs - Date.now(), 0), undefined, { signal: stage.signal });
        await drive(order, stage);
        return [];
      } catch (error) {
        stage.signal.throwIfAborted();
        const says = error instanceof Error ? error.message : String(error);
        return [{ orderId: order.id, code: error instanceof RefusedError ? error.code : 'NO_ANSWER', says }];
      }
    }),
  );
  return refusals.flat();
}

async function drive(order: DrivenOrder, stage: Stage): Promise<void> {
  const placedAt = Date.now();
  const isAnnounced = order.payment && !order.payment.isUnannounced;
  if (order.payment) await stage.simulator.create(paymentOf(order, placedAt, stage));
  await stage.channels[order.channel].place({
    id: order.id,
    amount: order.amount,
    currency: CURRENCY,
    expiresAt: inDatabaseTime(placedAt + order.windowMs, stage),
    lines: order.lines,
    ...(isAnnounced ? { attempt: { provider: PROVIDER, reference: referenceOf(order) } } : {}),
  });
  stage.onPlaced();
  if (!order.action) return;
  await sleep(Math.max(placedAt + order.action.atMs - Date.now(), 0), undefined, { signal: stage.signal });
  await act(order, order.action, placedAt, stage);
}

function act(order: DrivenOrder, action: PlannedAction, placedAt: number, stage: Stage): Promise<void> {
  const channel = stage.channels[order.channel];
  switch (action.type) {
    case 'report-paid': {
      const { id: orderId, amount } = order;
      return channel.reportPaid({
        orderId,
        provider: PROVIDER,
        reference: referenceOf(order),
        amount,
        currency: CURRENCY,
      });
    }
    case 'cancel':
      return channel.cancel(order.id);
    case 'move-deadline':
      return channel.moveDeadline(order.id, inDatabaseTime(placedAt + action.toMs, stage));
  }
}

function inDatabaseTime(at: number, { databaseAheadMs }: Stage): Date {
  return new Date(Math.round(at + databaseAheadMs));
}

function paymentOf(order: DrivenOrder, placedAt: number, stage: Stage): PaymentInput {
  const { paysAtMs, partialAmount, notify, notifyDelayMs: delayMs = 0, faults } = order.payment ?? { faults: [] };
  return {
    reference: referenceOf(order),
    amount: order.amount,
    currency: CURRENCY,
    script: paysAtMs === undefined ? { buyer: 'never' } : { buyer: 'pays-at', at: placedAt + paysAtMs },
    ...(partialAmount !== undefined && { partialAmount }),
    faults: [...faults],
    ...(notify && {
      notify: { url: stage.notifyUrl(order.id), headers: { ...stage.notifyHeaders }, lost: notify === 'lost', delayMs },
    }),
  };
}
