import { assertNever } from '../../errors';
import {
  type AssignUnmatchedResult,
  type CloseOrderResult,
  type RefundPaymentResult,
  type ReviveOrderResult,
  type ReopenUnmatchedResult,
  type SettleUnmatchedResult,
} from '../../orders';
import { RequestRejectedError } from './request-rejected-error';

/** Refusals of operator actions. */
export type OperatorRejection = Exclude<
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
export function isOperatorRejection(rejection: { readonly code: string }): rejection is OperatorRejection {
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
