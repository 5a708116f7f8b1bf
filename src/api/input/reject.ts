import { assertNever } from '../../errors';
import {
  type CancelOrderResult,
  type CheckPaymentResult,
  type ErasePersonalDataResult,
  type ExtendDeadlineResult,
  type PlaceResult,
  type RegisterAttemptResult,
  type SetAutoCloseResult,
  type AssignUnmatchedResult,
  type CloseOrderResult,
  type RefundPaymentResult,
  type ReviveOrderResult,
  type ReopenUnmatchedResult,
  type SettleUnmatchedResult,
} from '../../orders';
import { type SetStockOutcome } from '../../inventory';
import { RequestRejectedError } from './parse-input';

/** Refusals of use cases. */
type Rejection = Extract<
  | PlaceResult
  | RegisterAttemptResult
  | CheckPaymentResult
  | ExtendDeadlineResult
  | CancelOrderResult
  | SetAutoCloseResult
  | ErasePersonalDataResult
  | OperatorRejection,
  { outcome: 'rejected' }
>;

/** Maps a refusal of a use case to an error that says what to do. */
export function reject(orderId: string, rejection: Rejection): RequestRejectedError {
  if (isOperatorRejection(rejection)) return rejectOperator(orderId, rejection);
  const because = (reason: string, details?: Record<string, unknown>): RequestRejectedError =>
    new RequestRejectedError(rejection.code, reason, details);
  switch (rejection.code) {
    case 'ORDER_EXISTS':
      return because(
        `order "${orderId}" already exists with other content; use another id, or send the same content again`,
      );
    case 'IDEMPOTENCY_KEY_REUSED':
      return because('this idempotency key was used for another order; use a new key for a new order');
    case 'OUT_OF_STOCK': {
      const { shortages } = rejection;
      const list = shortages.map(({ sku, wanted, available }) => `${sku} (${available} of ${wanted})`).join(', ');
      return because(`not enough stock of ${list}`, { shortages });
    }
    case 'UNKNOWN_SKU':
      return because(`unknown SKU ${rejection.skus.join(', ')}; set its stock first`, { skus: rejection.skus });
    case 'PAYMENT_WINDOW_OUT_OF_RANGE': {
      const { minMs, maxMs } = rejection;
      return because(`the payment window of order "${orderId}" must be ${minMs} to ${maxMs} ms`, { minMs, maxMs });
    }
    case 'ATTEMPT_EXISTS':
      return because('this provider and reference belong to another order, or were registered with another amount');
    case 'TOO_MANY_ATTEMPTS':
    case 'PROVIDER_NOT_CONFIGURED':
    case 'MERCHANT_ACCOUNT_NOT_CONFIGURED':
      return rejectAttempt(orderId, rejection);
    case 'ORDER_NOT_FOUND':
      return notFound(orderId);
    case 'ORDER_EXPIRED':
      return because(`the deadline of order "${orderId}" has passed; it accepts no new payment attempt`);
    case 'ORDER_NOT_PAYABLE':
      return because(`order "${orderId}" no longer accepts payment attempts; read its status`);
    case 'ORDER_NOT_PENDING':
      return because(`order "${orderId}" is no longer PENDING; read its status`);
    case 'ORDER_NOT_CANCELLABLE':
      return because(`order "${orderId}" is ${rejection.status} and cannot be canceled`, {
        orderStatus: rejection.status,
      });
    case 'ORDER_NOT_FINISHED':
      return because(`order "${orderId}" is ${rejection.status}; wait until it is finished`, {
        orderStatus: rejection.status,
      });
    case 'ORDER_HAS_OPEN_ITEMS': {
      const { open } = rejection;
      return because(`order "${orderId}" still has open items: ${open.join(', ')}; settle them first`, { open });
    }
    case 'DEADLINE_OUT_OF_RANGE': {
      const latest = rejection.latest.toISOString();
      return because(`the deadline of order "${orderId}" may be at most ${latest}`, { latest });
    }
    default:
      return assertNever(rejection);
  }
}

/** A refused payment attempt: it could not be looked up, or the order has too many. */
function rejectAttempt(
  orderId: string,
  rejection: Extract<
    Rejection,
    { code: 'TOO_MANY_ATTEMPTS' | 'PROVIDER_NOT_CONFIGURED' | 'MERCHANT_ACCOUNT_NOT_CONFIGURED' }
  >,
): RequestRejectedError {
  if (rejection.code === 'TOO_MANY_ATTEMPTS') {
    const { code, limit } = rejection;
    const reason = `order "${orderId}" has ${limit} payment attempts, which is the maximum; offer one of them again`;
    return new RequestRejectedError(code, reason, { limit });
  }
  const { code, provider } = rejection;
  if (code === 'PROVIDER_NOT_CONFIGURED') {
    const configured = 'configured' in rejection ? ` (configured: ${rejection.configured.join(', ') || 'none'})` : '';
    return new RequestRejectedError(code, `payment provider "${provider}" is not configured${configured}`, {
      provider,
    });
  }
  const { merchantAccount } = rejection;
  const what = merchantAccount === null ? 'name the merchantAccount' : `"${merchantAccount}" is not one of them`;
  const reason = `payment provider "${provider}" serves several merchants; ${what}`;
  return new RequestRejectedError(code, reason, { provider, merchantAccount });
}

export function notFound(orderId: string): RequestRejectedError {
  return new RequestRejectedError('ORDER_NOT_FOUND', `there is no order "${orderId}"`);
}

/** Returns an accepted outcome of a use case. Throws a refusal as an error. */
export function accepted<T extends { readonly outcome: string }>(
  orderId: string,
  result: T,
): Exclude<T, { outcome: 'rejected' }> {
  if (result.outcome === 'rejected') throw reject(orderId, result as unknown as Rejection);
  return result as Exclude<T, { outcome: 'rejected' }>;
}

/** Refusals of operator actions. */
type OperatorRejection = Exclude<
  Extract<
    | AssignUnmatchedResult
    | SettleUnmatchedResult
    | ReopenUnmatchedResult
    | RefundPaymentResult
    | ReviveOrderResult
    | CloseOrderResult,
    { outcome: 'rejected' }
  >,
  // Other use cases return these too.
  { code: 'ORDER_NOT_FOUND' | 'OUT_OF_STOCK' }
>;

type Code = OperatorRejection['code'];

const SENTENCES = {
  UNMATCHED_PAYMENT_NOT_FOUND: 'there is no such unmatched payment; list them with GET /payments/unmatched',
  UNMATCHED_PAYMENT_HANDLED:
    'the payment is already handled; read its handling, and reopen it if it is settled by mistake',
  UNMATCHED_PAYMENT_HAS_ORDER: 'the payment already belongs to its order; refund it, revive the order, or settle it',
  PAYMENT_NOT_FOUND: 'has no such payment; read its attempts',
  PAYMENT_TAKEN:
    'another order uses the same payment; find out at the provider which order it pays, and settle the rest',
  PAYMENT_DISPUTED: 'the order has this payment with another amount; find out which amount is right, and settle it',
  PAYMENT_NOT_BOOKABLE: 'the order cannot book this amount; refund it at the provider, and settle it',
  PAYMENT_NEEDED: 'is paid by this payment; if you want to refund it, do so at the provider',
  PAYMENT_NOT_CONFIRMED: 'the payment is only reported; repeat the request when the provider confirms it',
  PAYMENT_INSUFFICIENT: 'does not have enough money; refund what it has, or collect the rest',
  ORDER_NOT_REVIVABLE: 'cannot be revived, because only a CLOSED order can; refund its money',
  ORDER_NOT_CLOSABLE: 'cannot be closed, because only a PENDING or CLOSING order can',
  ORDER_HAS_MONEY: 'has money; refund it first, or settle what waits as an unmatched payment',
} as const satisfies Record<Code, string>;

/** Whether only operator actions refuse with this code. */
function isOperatorRejection(rejection: { readonly code: string }): rejection is OperatorRejection {
  return Object.hasOwn(SENTENCES, rejection.code);
}

/** Maps a refused operator action to an error that says what to do. @param id id of the order or of the payment. */
export function rejectOperator(id: string, rejection: OperatorRejection): RequestRejectedError {
  const sentence = SENTENCES[rejection.code];
  const of = (what: string, details: Record<string, unknown> = {}): RequestRejectedError =>
    new RequestRejectedError(rejection.code, what, details);
  switch (rejection.code) {
    case 'UNMATCHED_PAYMENT_NOT_FOUND':
      return of(`${sentence} (got "${id}")`);
    case 'UNMATCHED_PAYMENT_HANDLED':
      return of(`${sentence} (${rejection.handling})`, { handling: rejection.handling });
    case 'UNMATCHED_PAYMENT_HAS_ORDER':
      return of(`${sentence} (${rejection.unmatchedReason})`, { reason: rejection.unmatchedReason });
    case 'PAYMENT_TAKEN':
      return of(sentence);
    case 'PAYMENT_DISPUTED': {
      const { paidAmount, paidCurrency } = rejection;
      return of(`${sentence} (booked: ${paidAmount} ${paidCurrency}, in minor units)`, { paidAmount, paidCurrency });
    }
    case 'PAYMENT_NOT_BOOKABLE': {
      const { amount, currency, orderCurrency } = rejection;
      return of(`${sentence} (${amount} ${currency}, in minor units; the order is in ${orderCurrency})`, {
        amount,
        currency,
      });
    }
    case 'PAYMENT_NOT_CONFIRMED':
      return of(`${sentence} (${rejection.says})`, { says: rejection.says });
    case 'ORDER_HAS_MONEY': {
      const names = rejection.payments.map(({ provider, reference }) => `${provider} ${reference}`).join(', ');
      return of(`order "${id}" ${sentence} (${names})`, { payments: rejection.payments });
    }
    case 'PAYMENT_NOT_FOUND':
      return of(`order "${id}" ${sentence} (got ${rejection.provider} "${rejection.reference}")`);
    case 'PAYMENT_INSUFFICIENT':
      return of(`order "${id}" ${sentence}`);
    case 'PAYMENT_NEEDED':
    case 'ORDER_NOT_REVIVABLE':
    case 'ORDER_NOT_CLOSABLE':
      return of(`order "${id}" is ${rejection.status} and ${sentence}`, { orderStatus: rejection.status });
    default:
      return assertNever(rejection);
  }
}

/** The error for a SKU that does not exist, or that the caller must not see. */
export function skuNotFound(sku: string): RequestRejectedError {
  return new RequestRejectedError('SKU_NOT_FOUND', `there is no SKU "${sku}"; set its stock first`);
}

/** Maps a refused stock change to an error that says what to do. */
export function rejectStock(sku: string, outcome: Exclude<SetStockOutcome, { type: 'set' }>): RequestRejectedError {
  switch (outcome.type) {
    case 'below-reserved': {
      const { reserved } = outcome;
      const reason = `${reserved} units of "${sku}" are reserved for orders, so at least ${reserved} must stay on hand`;
      return new RequestRejectedError('STOCK_BELOW_RESERVED', reason, { reserved });
    }
    case 'too-large': {
      const { max } = outcome;
      return new RequestRejectedError('STOCK_TOO_LARGE', `at most ${max} units of "${sku}" can be on hand`, { max });
    }
    case 'changed': {
      const { onHand, reserved, available } = outcome.level;
      const reason = `${onHand} units of "${sku}" are on hand, which is not what you expected; choose onHand again, or use add`;
      return new RequestRejectedError('STOCK_CHANGED', reason, { onHand, reserved, available });
    }
  }
}
