import { CodedError } from '../../errors';
import { type RejectionCode } from '../input';

/** Problems of HTTP itself. Refusals of use cases have the codes of RejectionCode. */
type TransportCode =
  | 'INVALID_JSON'
  | 'INVALID_REQUEST'
  | 'IDEMPOTENCY_KEY_UNSUPPORTED'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'CROSS_SITE_REQUEST'
  | 'ROUTE_NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'BODY_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'DATABASE_UNAVAILABLE'
  | 'BUSY'
  | 'INTERNAL_ERROR';

export type ProblemCode = RejectionCode | TransportCode;

interface Problem {
  readonly status: number;
  readonly title: string;
}

/** Status and title of every problem the API answers with. */
export const PROBLEMS: Readonly<Record<ProblemCode, Problem>> = {
  VALIDATION_FAILED: { status: 400, title: 'The request has invalid fields' },
  ACTOR_MISSING: { status: 400, title: 'Nobody is named who acts' },
  INVALID_JSON: { status: 400, title: 'The body is not valid JSON' },
  INVALID_REQUEST: { status: 400, title: 'The request cannot be read' },
  IDEMPOTENCY_KEY_UNSUPPORTED: { status: 400, title: 'This change cannot be protected by an idempotency key' },
  UNAUTHORIZED: { status: 401, title: 'A valid API key is required' },
  FORBIDDEN: { status: 403, title: 'The API key may not do this' },
  CROSS_SITE_REQUEST: { status: 403, title: 'The request does not come from the operator page' },
  ROUTE_NOT_FOUND: { status: 404, title: 'There is nothing at this path' },
  ORDER_NOT_FOUND: { status: 404, title: 'There is no such order' },
  PAYMENT_NOT_FOUND: { status: 404, title: 'The order has no such payment' },
  UNMATCHED_PAYMENT_NOT_FOUND: { status: 404, title: 'There is no such unmatched payment' },
  SKU_NOT_FOUND: { status: 404, title: 'There is no such SKU' },
  METHOD_NOT_ALLOWED: { status: 405, title: 'The path does not support this method' },
  ORDER_EXISTS: { status: 409, title: 'The order exists with other content' },
  OUT_OF_STOCK: { status: 409, title: 'There is not enough stock' },
  ATTEMPT_EXISTS: { status: 409, title: 'The payment attempt is taken' },
  TOO_MANY_ATTEMPTS: { status: 409, title: 'The order has too many payment attempts' },
  ORDER_EXPIRED: { status: 409, title: 'The order has expired' },
  ORDER_NOT_PAYABLE: { status: 409, title: 'The order no longer accepts payment attempts' },
  ORDER_NOT_PENDING: { status: 409, title: 'The order is no longer pending' },
  ORDER_NOT_CANCELLABLE: { status: 409, title: 'The order cannot be canceled' },
  ORDER_NOT_FINISHED: { status: 409, title: 'The order is not finished yet' },
  ORDER_HAS_OPEN_ITEMS: { status: 409, title: 'The order has open items' },
  ORDER_NOT_REVIVABLE: { status: 409, title: 'The order cannot be revived' },
  ORDER_NOT_CLOSABLE: { status: 409, title: 'The order cannot be closed' },
  ORDER_HAS_MONEY: { status: 409, title: 'The order has money' },
  UNMATCHED_PAYMENT_HANDLED: { status: 409, title: 'The unmatched payment is already handled' },
  UNMATCHED_PAYMENT_HAS_ORDER: { status: 409, title: 'The unmatched payment already belongs to its order' },
  PAYMENT_TAKEN: { status: 409, title: 'Another order uses the payment' },
  PAYMENT_DISPUTED: { status: 409, title: 'The payment is booked with another amount' },
  PAYMENT_NEEDED: { status: 409, title: 'The order is paid by this payment' },
  PAYMENT_NOT_CONFIRMED: { status: 409, title: 'The provider does not confirm the payment' },
  PAYMENT_INSUFFICIENT: { status: 409, title: 'The money is not enough for the order' },
  SKU_OF_ANOTHER_MERCHANT: { status: 409, title: 'The SKU belongs to another merchant' },
  STOCK_BELOW_RESERVED: { status: 409, title: 'The stock is less than what is reserved' },
  STOCK_CHANGED: { status: 409, title: 'The stock is not what was expected' },
  BODY_TOO_LARGE: { status: 413, title: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: 'The body has an unsupported encoding' },
  UNKNOWN_SKU: { status: 422, title: 'The order has an unknown SKU' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, title: 'The idempotency key was used for another order' },
  PAYMENT_NOT_BOOKABLE: { status: 422, title: 'The order cannot book this amount' },
  PAYMENT_WINDOW_OUT_OF_RANGE: { status: 422, title: 'The payment window is out of range' },
  DEADLINE_OUT_OF_RANGE: { status: 422, title: 'The deadline is out of range' },
  PROVIDER_NOT_CONFIGURED: { status: 422, title: 'The payment provider is not configured' },
  MERCHANT_ACCOUNT_NOT_CONFIGURED: { status: 422, title: 'The merchant account is not configured' },
  STOCK_TOO_LARGE: { status: 422, title: 'The stock is too large' },
  RATE_LIMITED: { status: 429, title: 'Too many requests' },
  INTERNAL_ERROR: { status: 500, title: 'An unexpected error occurred' },
  DATABASE_UNAVAILABLE: { status: 503, title: 'The database does not answer' },
  BUSY: { status: 503, title: 'The same rows are being changed; try again' },
};

/** A request that is refused before it reaches a use case. */
export class HttpProblem extends CodedError {
  constructor(
    readonly problem: ProblemCode,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(problem, detail);
  }
}
