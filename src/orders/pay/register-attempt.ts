import { Injectable } from '@nestjs/common';
import { PaymentProviders } from '../../payments';
import { draftAttempt } from '../model/money';
import { checkNewAttempt } from '../input/check-input';
import {
  type NewAttempt,
  type OrderAttempt,
  type ProviderRejection,
  refuseProvider,
  withAccount,
} from '../model/new-order';
import { deadlineTimeouts, earlyMoneyTimeout, paymentTimeout } from '../model/order-timeouts';
import { type LockedOrderContext, OrderTransaction } from '../sql/order-transaction';
import { OrderPolicies } from '../model/order-policies';
import {
  isPayable,
  type OrderView,
  accountOfAttempt,
  canTakeMoney,
  findAttempt,
  hasRegistered,
  type PaymentAttempt,
  type LockedOrder,
} from '../model/order';
import { limitTime, registerAttempt } from '../sql/attempts';
import { type ActionOptions, type ActionContext, contextOf } from '../model/transition';

type Money = Pick<PaymentAttempt, 'amount' | 'currency'>;

type AttemptRefusal = ProviderRejection | { readonly code: 'TOO_MANY_ATTEMPTS'; readonly limit: number };

/** `replayed`: the order has this attempt already. `ATTEMPT_EXISTS`: another order has it, or it has another amount. */
export type RegisterAttemptResult =
  | { readonly outcome: 'registered' | 'replayed'; readonly order: OrderView }
  | { readonly outcome: 'rejected'; readonly code: Refusal }
  /** The order has as many attempts as its policy allows. Offer one of those again. */
  | { readonly outcome: 'rejected'; readonly code: 'TOO_MANY_ATTEMPTS'; readonly limit: number }
  | ({ readonly outcome: 'rejected' } & ProviderRejection);

type Refusal = 'ORDER_NOT_FOUND' | 'ORDER_EXPIRED' | 'ORDER_NOT_PAYABLE' | 'ATTEMPT_EXISTS';

const rejected = (code: Refusal): RegisterAttemptResult => ({ outcome: 'rejected', code });

/**
 * Registers a payment attempt of an order. Checked under the row lock: after the deadline, or once closing has begun,
 * no new attempt is accepted, so the look-ups at closing cover all attempts.
 */
@Injectable()
export class RegisterAttempt {
  constructor(
    private readonly transaction: OrderTransaction,
    private readonly policies: OrderPolicies,
    private readonly providers: PaymentProviders,
  ) {}

  /** @throws InvalidOrderError if the attempt is invalid. */
  async execute(attempt: OrderAttempt, { by, tx }: ActionOptions = {}): Promise<RegisterAttemptResult> {
    checkNewAttempt(attempt);
    const { orderId } = attempt;
    const result = await this.transaction.withOrder<RegisterAttemptResult>(orderId, tx, (locked) =>
      this.register(locked, attempt, contextOf(by)),
    );
    const isExpired = result.outcome === 'rejected' && result.code === 'ORDER_EXPIRED';
    if (isExpired) this.transaction.scheduler.wake([paymentTimeout(orderId)], 'passive');
    return result;
  }

  private async register(
    locked: LockedOrderContext,
    input: NewAttempt,
    by: ActionContext,
  ): Promise<RegisterAttemptResult> {
    const { tx, order, now } = locked;
    const asked = draftAttempt(order, withAccount(input, this.providers), now);
    const known = findAttempt(order.attempts, asked);
    // Its row keeps its key. It may have been registered when the account was not known.
    const attempt = known ? { ...asked, merchantAccount: known.merchantAccount } : asked;
    const learns = known && accountOfAttempt(known) === null && asked.merchantAccount !== null;
    const isLimited = known !== undefined && isLimitedLater(known, attempt);
    if (isLimited) await limitTime(tx, this.transaction.database, attempt);
    if (!isPayable(order, now)) {
      if (isLimited) return { outcome: 'replayed', order: await this.transaction.view(tx, order.id) };
      return rejected(order.status === 'PENDING' ? 'ORDER_EXPIRED' : 'ORDER_NOT_PAYABLE');
    }
    // Only a report or a person has given it the attempt. From now on, the reference is the order's own.
    const isAdopted = known?.status === 'PAID' && !hasRegistered(known);
    const own = isAdopted ? undefined : known;
    if (own && !asksTheSame(own, attempt)) return rejected('ATTEMPT_EXISTS');
    const refused = own && !learns ? undefined : this.refuse(order, asked, known);
    if (refused) return { outcome: 'rejected', ...refused };
    if (learns || isAdopted) {
      // Another order may have registered it meanwhile, with its account or by the other name of its payment.
      const { attempts } = await this.transaction.store.samePaymentsLocked(tx, [asked, known], order.id);
      if (attempts.some((one) => one.orderId !== order.id)) return rejected('ATTEMPT_EXISTS');
      if (learns) await this.transaction.store.resolveAccount(tx, known, asked.merchantAccount);
    }
    if (!own || own.status === 'CREATED') {
      const written = await registerAttempt(tx, this.transaction.database, attempt, this.providers);
      if (!written) return rejected('ATTEMPT_EXISTS');
      await this.raiseGrace(locked, attempt, by);
      // Its payment may have been reported before. The closing then checks the order and finds it paid.
      await this.transaction.scheduler.schedule(earlyMoneyTimeout(order, written.hasMoney, by.traceparent), { tx });
    }
    return { outcome: own ? 'replayed' : 'registered', order: await this.transaction.view(tx, order.id) };
  }

  private refuse(
    { merchantId, attempts }: LockedOrder,
    attempt: PaymentAttempt,
    known?: PaymentAttempt,
  ): AttemptRefusal | undefined {
    const { maxAttempts, unknownProviders } = this.policies.of(merchantId);
    if (!known && attempts.length >= maxAttempts) return { code: 'TOO_MANY_ATTEMPTS', limit: maxAttempts };
    return unknownProviders === 'allow' ? undefined : refuseProvider(attempt, this.providers);
  }

  /** Some payment methods report a payment in time only later. The order waits for the slowest of its methods. */
  private async raiseGrace(
    { tx, order, now }: LockedOrderContext,
    { provider }: PaymentAttempt,
    by: ActionContext,
  ): Promise<void> {
    const graceMs = this.policies.graceMs(order.merchantId, provider, order.graceMs);
    if (graceMs === order.graceMs) return;
    const evidence = { provider, graceMs };
    const raised = await this.transaction.amend(
      tx,
      order,
      { graceMs },
      { by, reason: 'grace of the method', evidence },
    );
    const timeouts = deadlineTimeouts({ ...raised, reminderOffsetsMs: [] }, now, by.traceparent);
    await this.transaction.scheduler.schedule(timeouts, { tx });
  }
}

/**
 * A time limit may be set later, even while the order is closing: it is what "not found" waits for. A later limit
 * counts, because the provider may have received it. An earlier one proves nothing about the limit that the provider
 * received before. One that is only handed over now is like a new attempt.
 */
function isLimitedLater(known: PaymentAttempt, { timeExpire, ...attempt }: PaymentAttempt): boolean {
  if (known.status === 'CREATED' && attempt.status !== 'CREATED') return false;
  if (!canTakeMoney(known) || timeExpire === null || !asksTheSame(known, attempt)) return false;
  return known.timeExpire === null || timeExpire > known.timeExpire;
}

function asksTheSame(a: Money, b: Money): boolean {
  return a.amount === b.amount && a.currency === b.currency;
}
