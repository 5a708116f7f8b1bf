import { autoCloseSchema, cancellationSchema, closeSchema, reasonSchema, refundSchema } from '../../../api/input';
import {
  type CancelOrderResult,
  type CloseOrderResult,
  type ErasePersonalDataResult,
  type ExtendDeadlineResult,
  type RefundPaymentResult,
  type ReviveOrderResult,
  type SetAutoCloseResult,
} from '../../../orders';
import { fields, newDeadlineSchema } from '../../../orders/input';
import { orderAnswer } from '../answers/order-answer';
import { refundAnswer } from '../answers/outcome-answers';
import { type Operations } from '../operation';
import { refusalsOf } from '../refusals-of';

const params = { id: fields.orderId };
const byShop = { tag: 'Orders', scopes: ['orders:write'], params } as const;
const byOperator = { tag: 'Manual actions', scopes: ['admin'], params } as const;

/** Actions on one order. */
export const actionOperations: Operations = {
  'POST /orders/:id/extend': {
    ...byShop,
    id: 'extendDeadline',
    summary: 'Extend or shorten the deadline',
    description:
      'With `byMs`, each repetition moves the deadline again, so an `Idempotency-Key` with it is refused. Send `expiresAt` if ' +
      'a request may be sent twice.',
    body: newDeadlineSchema,
    answers: { 200: { description: 'The order', schema: orderAnswer } },
    problems: [
      'IDEMPOTENCY_KEY_UNSUPPORTED',
      ...refusalsOf<ExtendDeadlineResult>({
        ORDER_NOT_FOUND: true,
        ORDER_NOT_PENDING: true,
        DEADLINE_OUT_OF_RANGE: true,
      }),
    ],
  },
  'POST /orders/:id/cancel': {
    ...byShop,
    id: 'cancelOrder',
    summary: 'Cancel an order',
    body: cancellationSchema,
    answers: {
      200: {
        description:
          '`CANCELLED`, or `CLOSING` while its attempts are closed at their providers and its money is refunded',
        schema: orderAnswer,
      },
    },
    problems: refusalsOf<CancelOrderResult>({
      ORDER_NOT_FOUND: true,
      ORDER_NOT_CANCELLABLE: true,
      ORDER_HAS_MONEY: true,
    }),
  },
  'POST /orders/:id/auto-close': {
    ...byShop,
    id: 'setAutoClose',
    summary: 'Turn closing at the deadline on or off',
    body: autoCloseSchema,
    answers: { 200: { description: 'The order', schema: orderAnswer } },
    problems: refusalsOf<SetAutoCloseResult>({ ORDER_NOT_FOUND: true, ORDER_NOT_PENDING: true }),
  },
  'POST /orders/:id/refund': {
    ...byOperator,
    id: 'refundPayment',
    summary: 'Refund one payment of an order in full',
    body: refundSchema,
    answers: { 200: { description: 'The refund is in progress or done', schema: refundAnswer } },
    problems: refusalsOf<RefundPaymentResult>({
      ORDER_NOT_FOUND: true,
      PAYMENT_NOT_FOUND: true,
      PAYMENT_TAKEN: true,
      PAYMENT_NEEDED: true,
      PAYMENT_NOT_CONFIRMED: true,
      UNMATCHED_PAYMENT_HANDLED: true,
    }),
  },
  'POST /orders/:id/revive': {
    ...byOperator,
    id: 'reviveOrder',
    summary: 'Make a closed order whose money was kept PAID',
    body: reasonSchema,
    answers: { 200: { description: 'The order', schema: orderAnswer } },
    problems: refusalsOf<ReviveOrderResult>({
      ORDER_NOT_FOUND: true,
      OUT_OF_STOCK: true,
      ORDER_NOT_REVIVABLE: true,
      PAYMENT_INSUFFICIENT: true,
      PAYMENT_TAKEN: true,
      UNMATCHED_PAYMENT_HANDLED: true,
    }),
  },
  'POST /orders/:id/close': {
    ...byOperator,
    id: 'closeOrder',
    summary: 'Close an unpaid order now',
    body: closeSchema,
    answers: {
      200: {
        description: '`CLOSED`, or `CLOSING` while its attempts are closed at their providers',
        schema: orderAnswer,
      },
    },
    problems: refusalsOf<CloseOrderResult>({ ORDER_NOT_FOUND: true, ORDER_NOT_CLOSABLE: true, ORDER_HAS_MONEY: true }),
  },
  'POST /orders/:id/erase': {
    ...byOperator,
    id: 'erasePersonalData',
    summary: 'Erase the personal data of a finished order',
    body: reasonSchema,
    answers: { 200: { description: 'The order without personal data', schema: orderAnswer } },
    problems: refusalsOf<ErasePersonalDataResult>({
      ORDER_NOT_FOUND: true,
      ORDER_NOT_FINISHED: true,
      ORDER_HAS_OPEN_ITEMS: true,
    }),
  },
};
