import { setTimeout as sleep } from 'node:timers/promises';
import { type OrderStatus } from '../../../src/orders';
import { type PaymentKey } from '../../support/servers/simulator-client';
import { answerOf } from '../../support/until';
import { httpJson } from '../../support/shop/http-json';
import { type Cast } from './cast';
import { handMadeNotification } from './hand-made-notification';
import { keptSql, parkedSql, statusSql } from './look-up';
import { attemptOf } from './place-order';
import { type Placed } from './placed-order';
import { type Like, type Playing, type Role } from './play-order';
import { providersNameOf } from './providers-name-of';
import { TooLateError } from './too-late-error';

/** One order, and what it is played with. */
interface Scene {
  readonly playing: Playing;
  readonly role: Role;
  readonly order: Placed;
  /** How much more time than planned everybody has. */
  readonly factor: number;
  /** Plays another order. */
  readonly playOrder: (playing: Playing, role: Role, like: Like) => Promise<void>;
}

type Waiting = 'at' | 'after' | 'untilStatus' | 'untilLedger' | 'untilKept' | 'untilParked';
type AtProvider = 'pay' | 'postByHand' | 'closeByHand' | 'refundDirectly';
type AtShop = Exclude<keyof Cast, Waiting | AtProvider | 'order' | 'random'>;

/** The longest: a refund is given up after 82 s of refusals. */
const STEP_LIMIT_MS = 150_000;

/** What the scenario of this order can do and see. */
export function castOf(scene: Scene): Cast {
  const { order, role } = scene;
  return { order, random: role.random, ...waitingOf(scene), ...providerOf(scene), ...shopOf(scene) };
}

function waitingOf({ playing: { stage, signal }, order, factor }: Scene): Pick<Cast, Waiting> {
  const { simulator, records, listener } = stage;
  const wait = <T>(what: string, ask: () => Promise<T | undefined>): Promise<T> =>
    answerOf(`${what} of ${order.id}`, STEP_LIMIT_MS, signal, ask);
  return {
    at: (ms) => sleep(Math.max(0, order.placedAt + ms * factor - Date.now()), undefined, { signal }),
    after: (ms) => sleep(ms, undefined, { signal }),
    untilStatus: (...wanted) =>
      wait(wanted.join(' or '), async () => {
        const [row] = (await records.execute(statusSql(order))) as { status: OrderStatus }[];
        return wanted.find((one) => one === row?.status);
      }),
    untilLedger: (index, what, holds) =>
      wait(what, async () => {
        const { reference, ownerAccount } = at(order.payments, index);
        const isMeant = (one: { readonly reference: string; readonly merchantAccount: string | null }): boolean =>
          one.reference === reference && one.merchantAccount === ownerAccount;
        const entry = (await simulator.ledger()).find(isMeant);
        return entry && holds(entry) ? entry : undefined;
      }),
    untilKept: async (index) => {
      const payment = at(order.payments, index);
      const isTold = (): boolean =>
        listener.facts().some(({ type, reference, merchantAccount }) => {
          const isIt = reference === payment.reference && merchantAccount === payment.ownerAccount;
          return type === 'order.payment_late' && isIt;
        });
      await wait('kept payment, and its event', async () => {
        const rows = (await records.execute(keptSql(payment))) as unknown[];
        return rows.length === 1 && isTold() ? true : undefined;
      });
    },
    untilParked: async () => {
      await wait('parked timeout, and its event', async () => {
        const keys = (await parkedOf(stage, order)).map(({ key }) => key);
        const told = listener.facts().filter(({ type }) => type === 'timeout.parked');
        return told.some(({ key = '' }) => keys.includes(key)) ? true : undefined;
      });
    },
  };
}

function providerOf({ playing: { stage }, order }: Scene): Pick<Cast, AtProvider> {
  const { simulator, merchants } = stage;
  const keyOf = (index: number): PaymentKey => {
    const { provider, reference, ownerAccount: account } = at(order.payments, index);
    return { provider, reference, account };
  };
  return {
    pay: (index) => simulator.pay(keyOf(index)),
    refundDirectly: (index, amount) => simulator.refundDirectly(keyOf(index), amount),
    postByHand: async (index, flaw) => {
      const payment = at(order.payments, index);
      const { headers, body } = handMadeNotification(merchants, { ...order, payment, flaw });
      const { url } = at(stage.shops, 0);
      const { status } = await httpJson('POST', `${url}/payments/${payment.provider}/notify`, body, headers);
      return status < 300;
    },
    closeByHand: async (index) => {
      const { reference, account } = keyOf(index);
      const key = merchants.stripe[account]?.secretKey ?? '';
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' };
      const url = `${simulator.url}/stripe/v1/payment_intents/${reference}/cancel`;
      return (await httpJson('POST', url, '', headers)).status === 200;
    },
  };
}

function shopOf({ playing, role, order, factor, playOrder }: Scene): Pick<Cast, AtShop> {
  const { stage } = playing;
  const shop = at(stage.shops, 0);
  const attemptAt = (index: number) => attemptOf(at(order.payments, index));
  return {
    register: async (index) => inTime(await shop.tryRegister(order.id, attemptAt(index))),
    refusalOf: (index) => shop.refusalOf(order.id, attemptAt(index)),
    report: (index, { amount = order.amount, isByProvidersName } = {}) => {
      const payment = at(order.payments, index);
      const reference = isByProvidersName ? providersNameOf(payment) : payment.reference;
      const { provider, ownerAccount: merchantAccount } = payment;
      return shop.report(order.id, { provider, reference, merchantAccount, amount, currency: order.currency });
    },
    cancel: async () => void (await shop.cancel(order.id)),
    extend: async (byMs) => inTime(await shop.tryExtend(order.id, byMs * factor)),
    placeRival: (plan) => playOrder(playing, { ...role, id: `${order.id}-rival`, plan }, { lines: order.lines }),
    placeTwin: (plan) => playOrder(playing, { ...role, id: `${order.id}-twin`, plan }, { twins: order.payments }),
    replayParked: async () => shop.replay(await parkedOf(stage, order)),
  };
}

function inTime(isAccepted: boolean): void {
  if (!isAccepted) throw new TooLateError('the order is past its deadline');
}

async function parkedOf({ records }: Playing['stage'], order: Placed): Promise<{ kind: string; key: string }[]> {
  return (await records.execute(parkedSql(order))) as { kind: string; key: string }[];
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no number ${index}`);
  return item;
}
