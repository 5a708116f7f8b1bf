import { type Orders } from '../../orders';
import { toSentence } from '../../orders/input';
import { type SetStockOutcome, type StockLevel } from '../../inventory';
import { CodedError } from '../../errors';

type Returned<T> = { [Key in keyof T]: T[Key] extends (...args: never[]) => Promise<infer Result> ? Result : never };

/** What every use case returns if it refuses. A new one does not compile until its codes are in the table. */
type Rejection = Extract<
  Returned<Orders>[keyof Orders] | Returned<Unmatched>[keyof Unmatched],
  { outcome: 'rejected' }
>;

type Unmatched = Orders['unmatched'];

/** What the doors themselves refuse, and changes of stock. */
type OwnRefusal =
  | { readonly code: 'VALIDATION_FAILED'; readonly errors: readonly { path: string; message: string }[] }
  | { readonly code: 'ACTOR_MISSING' | 'SKU_NOT_FOUND' }
  | { readonly code: 'SKU_OF_ANOTHER_MERCHANT'; readonly merchantId: string | undefined }
  | { readonly code: 'STOCK_BELOW_RESERVED'; readonly reserved: number }
  | ({ readonly code: 'STOCK_CHANGED' } & Pick<StockLevel, 'onHand' | 'reserved' | 'available'>)
  | { readonly code: 'STOCK_TOO_LARGE'; readonly max: number };

type WithoutOutcome<T> = T extends unknown ? Omit<T, 'outcome' | 'id'> : never;

/** A code with its values. */
export type Refusal = WithoutOutcome<Rejection> | OwnRefusal;

type RefusalCode = Refusal['code'];

/** The refusals that may have this code. */
type With<Code, T = Refusal> = T extends { code: infer Own } ? (Code extends Own ? T : never) : never;

interface Problem {
  readonly status: number;
  readonly title: string;
}

interface RefusalText<Code extends RefusalCode> extends Problem {
  /** For people: what is wrong, and what to do. @param id of the order, the payment, or the SKU. */
  readonly sentence: (values: With<Code>, id: string) => string;
  /** The values for programs: further members of the problem. */
  readonly details?: (values: With<Code>) => Readonly<Record<string, unknown>>;
}

function refusal<Code extends RefusalCode>(
  status: number,
  title: string,
  text: Omit<RefusalText<Code>, keyof Problem>,
): RefusalText<Code> {
  return { status, title, ...text };
}

const orderStatus = ({ status }: { readonly status: string }): Record<string, string> => ({ orderStatus: status });

/** Everything that the API refuses: for problems over HTTP, answers over AMQP, the operator page, and the documents. */
export const PROBLEMS = {
  VALIDATION_FAILED: refusal(400, 'The request has invalid fields', {
    sentence: ({ errors }) => errors.map(toSentence).join('; '),
    details: ({ errors }) => ({ errors }),
  }),
  ACTOR_MISSING: refusal(400, 'Nobody is named who acts', {
    sentence: () => 'a bulk action needs an actor; configure API keys, or call orders.bulk in your application',
  }),
  INVALID_JSON: { status: 400, title: 'The body is not valid JSON' },
  INVALID_REQUEST: { status: 400, title: 'The request cannot be read' },
  IDEMPOTENCY_KEY_UNSUPPORTED: { status: 400, title: 'This change cannot be protected by an idempotency key' },
  UNAUTHORIZED: { status: 401, title: 'A valid API key is required' },
  FORBIDDEN: { status: 403, title: 'The API key may not do this' },
  CROSS_SITE_REQUEST: { status: 403, title: 'The request does not come from the operator page' },
  ROUTE_NOT_FOUND: { status: 404, title: 'There is nothing at this path' },
  ORDER_NOT_FOUND: refusal(404, 'There is no such order', {
    sentence: (_, id) => `there is no order "${id}"`,
  }),
  PAYMENT_NOT_FOUND: refusal(404, 'The order has no such payment', {
    sentence: ({ provider, reference }, id) =>
      `order "${id}" has no such payment; read its attempts (got ${provider} "${reference}")`,
  }),
  UNMATCHED_PAYMENT_NOT_FOUND: refusal(404, 'There is no such unmatched payment', {
    sentence: (_, id) => `there is no such unmatched payment; list them with GET /payments/unmatched (got "${id}")`,
  }),
  SKU_NOT_FOUND: refusal(404, 'There is no such SKU', {
    sentence: (_, sku) => `there is no SKU "${sku}"; set its stock first`,
  }),
  METHOD_NOT_ALLOWED: { status: 405, title: 'The path does not support this method' },
  ORDER_EXISTS: refusal(409, 'The order exists with other content', {
    sentence: (_, id) =>
      `order "${id}" already exists with other content; use another id, or send the same content again`,
  }),
  OUT_OF_STOCK: refusal(409, 'There is not enough stock', {
    sentence: ({ shortages }) =>
      `not enough stock of ${shortages.map(({ sku, wanted, available }) => `${sku} (${available} of ${wanted})`).join(', ')}`,
    details: ({ shortages }) => ({ shortages }),
  }),
  ATTEMPT_EXISTS: refusal(409, 'The payment attempt is taken', {
    sentence: () => 'this provider and reference belong to another order, or were registered with another amount',
  }),
  TOO_MANY_ATTEMPTS: refusal(409, 'The order has too many payment attempts', {
    sentence: ({ limit }, id) =>
      `order "${id}" has ${limit} payment attempts, which is the maximum; offer one of them again`,
    details: ({ limit }) => ({ limit }),
  }),
  ORDER_EXPIRED: refusal(409, 'The order has expired', {
    sentence: (_, id) => `the deadline of order "${id}" has passed; it accepts no new payment attempt`,
  }),
  ORDER_NOT_PAYABLE: refusal(409, 'The order no longer accepts payment attempts', {
    sentence: (_, id) => `order "${id}" no longer accepts payment attempts; read its status`,
  }),
  ORDER_NOT_PENDING: refusal(409, 'The order is no longer pending', {
    sentence: (_, id) => `order "${id}" is no longer PENDING; read its status`,
  }),
  ORDER_NOT_CANCELLABLE: refusal(409, 'The order cannot be canceled', {
    sentence: ({ status }, id) => `order "${id}" is ${status} and cannot be canceled`,
    details: orderStatus,
  }),
  ORDER_NOT_FINISHED: refusal(409, 'The order is not finished yet', {
    sentence: ({ status }, id) => `order "${id}" is ${status}; wait until it is finished`,
    details: orderStatus,
  }),
  ORDER_HAS_OPEN_ITEMS: refusal(409, 'The order has open items', {
    sentence: ({ open }, id) => `order "${id}" still has open items: ${open.join(', ')}; settle them first`,
    details: ({ open }) => ({ open }),
  }),
  ORDER_NOT_REVIVABLE: refusal(409, 'The order cannot be revived', {
    sentence: ({ status }, id) =>
      `order "${id}" is ${status} and cannot be revived, because only a CLOSED order can; refund its money`,
    details: orderStatus,
  }),
  ORDER_NOT_CLOSABLE: refusal(409, 'The order cannot be closed', {
    sentence: ({ status }, id) =>
      `order "${id}" is ${status} and cannot be closed, because only a PENDING or CLOSING order can`,
    details: orderStatus,
  }),
  ORDER_HAS_MONEY: refusal(409, 'The order has money', {
    sentence: ({ payments }, id) => {
      const names = payments.map(({ provider, reference }) => `${provider} ${reference}`).join(', ');
      return `order "${id}" has money; refund it first, or settle what waits as an unmatched payment (${names})`;
    },
    details: ({ payments }) => ({ payments }),
  }),
  UNMATCHED_PAYMENT_HANDLED: refusal(409, 'The unmatched payment is already handled', {
    sentence: ({ handling }) =>
      `the payment is already handled; read its handling, and reopen it if it is settled by mistake (${handling})`,
    details: ({ handling }) => ({ handling }),
  }),
  UNMATCHED_PAYMENT_HAS_ORDER: refusal(409, 'The unmatched payment already belongs to its order', {
    sentence: ({ unmatchedReason: reason }) =>
      `the payment already belongs to its order; refund it, revive the order, or settle it (${reason})`,
    details: ({ unmatchedReason: reason }) => ({ reason }),
  }),
  PAYMENT_TAKEN: refusal(409, 'Another order uses the payment', {
    sentence: () =>
      'another order uses the same payment; find out at the provider which order it pays, and settle the rest',
  }),
  PAYMENT_DISPUTED: refusal(409, 'The payment is booked with another amount', {
    sentence: ({ paidAmount, paidCurrency }) =>
      'the order has this payment with another amount; find out which amount is right, and settle it ' +
      `(booked: ${paidAmount} ${paidCurrency}, in minor units)`,
    details: ({ paidAmount, paidCurrency }) => ({ paidAmount, paidCurrency }),
  }),
  PAYMENT_ERASED: refusal(409, 'The reference of the payment was erased', {
    sentence: (_, id) =>
      `the reference of this payment was erased with the personal data of order "${id}"; refund it at the provider`,
  }),
  PAYMENT_NEEDED: refusal(409, 'The order is paid by this payment', {
    sentence: ({ status }, id) =>
      `order "${id}" is ${status} and is paid by this payment; if you want to refund it, do so at the provider`,
    details: orderStatus,
  }),
  PAYMENT_NOT_CONFIRMED: refusal(409, 'The provider does not confirm the payment', {
    sentence: ({ says }) => `the payment is only reported; repeat the request when the provider confirms it (${says})`,
    details: ({ says }) => ({ says }),
  }),
  PAYMENT_INSUFFICIENT: refusal(409, 'The money is not enough for the order', {
    sentence: (_, id) => `order "${id}" does not have enough money; refund what it has, or collect the rest`,
  }),
  SKU_OF_ANOTHER_MERCHANT: refusal(409, 'The SKU belongs to another merchant', {
    sentence: ({ merchantId }, sku) =>
      `SKU "${sku}" is shared or belongs to another merchant than "${merchantId}"; leave merchantId out`,
  }),
  STOCK_BELOW_RESERVED: refusal(409, 'The stock is less than what is reserved', {
    sentence: ({ reserved }, sku) =>
      `${reserved} units of "${sku}" are reserved for orders, so at least ${reserved} must stay on hand`,
    details: ({ reserved }) => ({ reserved }),
  }),
  STOCK_CHANGED: refusal(409, 'The stock is not what was expected', {
    sentence: ({ onHand }, sku) =>
      `${onHand} units of "${sku}" are on hand, which is not what you expected; choose onHand again, or use add`,
    details: ({ onHand, reserved, available }) => ({ onHand, reserved, available }),
  }),
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The body has an unsupported encoding' },
  UNKNOWN_SKU: refusal(422, 'The order has an unknown SKU', {
    sentence: ({ skus }) => `unknown SKU ${skus.join(', ')}; set its stock first`,
    details: ({ skus }) => ({ skus }),
  }),
  IDEMPOTENCY_KEY_REUSED: refusal(422, 'The idempotency key was used for another order', {
    sentence: () => 'this idempotency key was used for another order, or for one that was deleted since; use a new key',
  }),
  PAYMENT_NOT_BOOKABLE: refusal(422, 'The order cannot book this amount', {
    sentence: ({ amount, currency, orderCurrency }) =>
      'the order cannot book this amount; refund it at the provider, and settle it ' +
      `(${amount} ${currency}, in minor units; the order is in ${orderCurrency})`,
    details: ({ amount, currency }) => ({ amount, currency }),
  }),
  PAYMENT_WINDOW_OUT_OF_RANGE: refusal(422, 'The payment window is out of range', {
    sentence: ({ minMs, maxMs }, id) => `the payment window of order "${id}" must be ${minMs} to ${maxMs} ms`,
    details: ({ minMs, maxMs }) => ({ minMs, maxMs }),
  }),
  DEADLINE_OUT_OF_RANGE: refusal(422, 'The deadline is out of range', {
    sentence: ({ latest }, id) => `the deadline of order "${id}" may be at most ${latest.toISOString()}`,
    details: ({ latest }) => ({ latest: latest.toISOString() }),
  }),
  PROVIDER_NOT_CONFIGURED: refusal(422, 'The payment provider is not configured', {
    sentence: (values) => {
      const configured = 'configured' in values ? ` (configured: ${values.configured.join(', ') || 'none'})` : '';
      return `payment provider "${values.provider}" is not configured${configured}`;
    },
    details: ({ provider }) => ({ provider }),
  }),
  MERCHANT_ACCOUNT_NOT_CONFIGURED: refusal(422, 'The merchant account is not configured', {
    sentence: ({ provider, merchantAccount }) => {
      const what = merchantAccount === null ? 'name the merchantAccount' : `"${merchantAccount}" is not one of them`;
      return `payment provider "${provider}" serves several merchants; ${what}`;
    },
    details: ({ provider, merchantAccount }) => ({ provider, merchantAccount }),
  }),
  STOCK_TOO_LARGE: refusal(422, 'The stock is too large', {
    sentence: ({ max }, sku) => `at most ${max} units of "${sku}" can be on hand`,
    details: ({ max }) => ({ max }),
  }),
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  INTERNAL_ERROR: { status: 500, title: 'An unexpected error occurred' },
  DATABASE_UNAVAILABLE: { status: 503, title: 'The database does not answer' },
  BUSY: { status: 503, title: 'The same rows are being changed; try again' },
} satisfies { readonly [Code in RefusalCode]: RefusalText<Code> } & Readonly<Record<string, Problem>>;

/** Stable: part of the API contract. */
export type ProblemCode = keyof typeof PROBLEMS;

/** A request or command that is refused because of its content. HTTP answers with a problem, AMQP parks the message. */
export class RequestRejectedError extends CodedError {
  constructor(
    readonly rejection: RefusalCode,
    /** A sentence for people, with the values. */
    readonly reason: string,
    /** The values for programs: members of the problem body. */
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(rejection, reason);
  }
}

/** A request that is refused before it reaches a use case. */
export class HttpProblem extends CodedError {
  constructor(
    readonly problem: Exclude<ProblemCode, RefusalCode>,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(problem, detail);
  }
}

/** The error of a refusal, which says what to do. @param id of the order, the payment, or the SKU. */
export function reject(id: string, refusal: Refusal): RequestRejectedError {
  // The compiler does not see that the text of a code takes the values of this code.
  const { sentence, details } = PROBLEMS[refusal.code] as unknown as RefusalText<RefusalCode>;
  return new RequestRejectedError(refusal.code, sentence(refusal, id), details?.(refusal));
}

/** The error for an order that does not exist, or that the caller must not see. */
export function notFound(orderId: string): RequestRejectedError {
  return reject(orderId, { code: 'ORDER_NOT_FOUND' });
}

/** The error of a refused change of stock. */
export function rejectStock(sku: string, outcome: Exclude<SetStockOutcome, { type: 'set' }>): RequestRejectedError {
  switch (outcome.type) {
    case 'below-reserved':
      return reject(sku, { code: 'STOCK_BELOW_RESERVED', reserved: outcome.reserved });
    case 'too-large':
      return reject(sku, { code: 'STOCK_TOO_LARGE', max: outcome.max });
    case 'changed':
      return reject(sku, { code: 'STOCK_CHANGED', ...outcome.level });
  }
}
