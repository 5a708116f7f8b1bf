import { assertNever } from '../../errors';
import {
  type CancelOrderResult,
  type CheckPaymentResult,
  type ErasePersonalDataResult,
  type ExtendDeadlineResult,
  type PlaceResult,
  type RegisterAttemptResult,
  type SetAutoCloseResult,
} from '../../orders';
import { isOperatorRejection, type OperatorRejection, rejectOperator } from './reject-operator';
import { RequestRejectedError } from './request-rejected-error';

/** Refusals of use cases. */
export type Rejection = Extract<
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
