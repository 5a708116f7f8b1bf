import { type NewOrder } from '../../src';

/** Kinds of goods: enough that a popular one is not the limit, few enough that orders do wait for each other. */
export const SKUS = 1_000;
/** More than any workload sells. */
export const ON_HAND = 10_000_000;
export const skuOf = (number: number): string => `sku-${String(number % SKUS).padStart(4, '0')}`;

/** Odd and far from each other, so that neighbors do not buy the same. */
const SPREAD = 7_919;

/** Pure: the goods of order n, two different ones. */
export function linesOf(n: number): { sku: string; quantity: number; unitAmount: number }[] {
  const first = n * SPREAD;
  const second = first + 1 + ((n * SPREAD * 31) % (SKUS - 1));
  return [
    { sku: skuOf(first), quantity: 1, unitAmount: 1_500 },
    { sku: skuOf(second), quantity: 2, unitAmount: 750 },
  ];
}

/** Ids in the order of their numbers. */
export const orderId = (prefix: string, n: number): string => `${prefix}-${String(n).padStart(8, '0')}`;

/** Pure: order n, without a payment attempt. */
export function newOrder(
  prefix: string,
  n: number,
  deadline: Pick<NewOrder, 'expiresAt' | 'paymentWindowMs'>,
): NewOrder {
  return { id: orderId(prefix, n), amount: 3_000, currency: 'CNY', lines: linesOf(n), ...deadline };
}
