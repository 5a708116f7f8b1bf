import { type Role } from '../api/contract';
import { type Attempt, type OrderDetails } from '../api/order-contract';

export type OrderActionName = 'extend' | 'payCheck' | 'autoCloseOff' | 'autoCloseOn' | 'revive' | 'cancel' | 'close';

const OPEN_ATTEMPTS = ['CREATED', 'OPEN', 'UNKNOWN'];

type Facts = Pick<OrderDetails, 'status' | 'autoClose' | 'attempts' | 'unmatched'>;

/** Pure: the actions that fit the order and that the roles allow. The service decides in the end. */
export function actionsFor(order: Facts, roles: readonly Role[]): OrderActionName[] {
  const { status, autoClose, attempts, unmatched } = order;
  const isPending = status === 'PENDING';
  const isUndecided = isPending || status === 'CLOSING';
  const fits: Readonly<Record<OrderActionName, boolean>> = {
    extend: isPending,
    payCheck: attempts.some((attempt) => OPEN_ATTEMPTS.includes(attempt.status)),
    autoCloseOff: isPending && autoClose,
    autoCloseOn: isPending && !autoClose,
    revive: status === 'CLOSED' && unmatched.some(({ handling }) => handling === 'kept'),
    cancel: isUndecided,
    close: isUndecided,
  };
  const names = Object.keys(fits) as OrderActionName[];
  return names.filter((name) => fits[name] && roles.includes(name === 'revive' ? 'money' : 'operate'));
}

/** Pure: whether the money of this attempt can go back. */
export function isRefundable({ status, paidAmount }: Attempt, roles: readonly Role[]): boolean {
  const holdsMoney = status === 'PAID' || (paidAmount !== undefined && status === 'CLOSED');
  return holdsMoney && roles.includes('money');
}
