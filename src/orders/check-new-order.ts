import { CodedError } from '../errors';
import { type MinorUnits, type NewOrder } from './new-order';

/** Orders given to PlaceOrders that cannot be meant. Nothing was written. */
export class InvalidOrderError extends CodedError {
  constructor(readonly problems: readonly string[]) {
    super('INVALID_ORDER', problems.join('; '));
  }
}

const ID = /^[A-Za-z0-9_\-:.]{1,64}$/;
const CURRENCY = /^[A-Z]{3}$/;
/** PostgreSQL's bigint. */
const MAX_MINOR_UNITS = 2n ** 63n - 1n;
const MAX_QUANTITY = 1_000_000;

/**
 * HTTP and AMQP check their input by a schema; a caller in the same process may be plain JavaScript, or have
 * computed an amount with fractions.
 *
 * @throws InvalidOrderError naming every problem of every order.
 */
export function checkNewOrders(orders: readonly NewOrder[]): void {
  const problems = orders.flatMap((order) =>
    problemsOf(order).map((problem) => `order "${String(order.id)}": ${problem}`),
  );
  if (problems.length > 0) throw new InvalidOrderError(problems);
}

/**
 * The same for a payment that a caller in the same process reports.
 *
 * @throws InvalidOrderError naming every problem.
 */
export function checkReportedPayment(
  payment: Pick<NewOrder, 'amount' | 'currency'> & { readonly reference: string },
): void {
  const { amount, currency, reference } = payment;
  const problems: string[] = [];
  if (!isMinorUnits(amount, 1n)) problems.push(`amount must be whole minor units, at least 1 (got ${String(amount)})`);
  if (!CURRENCY.test(currency)) problems.push(`currency must be three capital letters (got ${String(currency)})`);
  if (problems.length === 0) return;
  throw new InvalidOrderError(problems.map((problem) => `payment "${reference}": ${problem}`));
}

function problemsOf({ id, amount, currency, lines, paymentWindowMs, expiresAt }: NewOrder): string[] {
  const problems: string[] = [];
  if (!ID.test(id)) problems.push(`id must match ${ID.source}`);
  if (!isMinorUnits(amount, 1n)) problems.push(`amount must be whole minor units, at least 1 (got ${String(amount)})`);
  if (!CURRENCY.test(currency)) problems.push(`currency must be three capital letters (got ${String(currency)})`);
  if (paymentWindowMs !== undefined && expiresAt !== undefined)
    problems.push('give either paymentWindowMs or expiresAt');
  if (expiresAt && Number.isNaN(expiresAt.getTime())) problems.push('expiresAt must be a valid date');
  return [
    ...problems,
    ...(Array.isArray(lines) ? lines.flatMap(lineProblems) : ['lines must be an array; it may be empty']),
  ];
}

function lineProblems({ sku, quantity, unitAmount }: NewOrder['lines'][number], index: number): string[] {
  const problems: string[] = [];
  if (typeof sku !== 'string' || sku.length === 0) problems.push(`lines[${index}].sku must be a text`);
  if (!(Number.isInteger(quantity) && quantity >= 1 && quantity <= MAX_QUANTITY)) {
    problems.push(`lines[${index}].quantity must be an integer from 1 to ${MAX_QUANTITY} (got ${String(quantity)})`);
  }
  if (!isMinorUnits(unitAmount, 0n)) problems.push(`lines[${index}].unitAmount must be whole minor units`);
  return problems;
}

function isMinorUnits(amount: MinorUnits, min: bigint): boolean {
  if (typeof amount === 'number' && !Number.isSafeInteger(amount)) return false;
  if (typeof amount !== 'number' && typeof amount !== 'bigint') return false;
  return BigInt(amount) >= min && BigInt(amount) <= MAX_MINOR_UNITS;
}
