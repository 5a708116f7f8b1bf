import { z } from 'zod';
import { InvalidOrderError } from '../model/errors';
import { type CheckedOrder, type NewOrder, type OrderAttempt } from '../model/new-order';
import { type OrderPosition, decodePosition } from '../model/order-filter';
import { MAX_PROBLEMS, problemsOf, toSentence, moduleFields, moneyFields } from './fields';
import { moduleSchemas } from './schemas';
import { storableText } from '../../database';
import { LIMITS } from '../model/order-policies';

// HTTP and AMQP have validated their input. A caller in the same process may be plain JavaScript, or may have computed
// an amount with fractions, so the same limits are checked here.

const MAX_SHOWN = 40;

/** @throws InvalidOrderError with at most 50 problems of all orders. */
export function checkNewOrders(orders: readonly NewOrder[]): asserts orders is readonly CheckedOrder[] {
  let problems: string[] = [];
  for (const order of orders) {
    const { error } = moduleSchemas.order.safeParse(order, { reportInput: true });
    if (error) problems = problems.concat(sentences(error, `order ${shown((order as Partial<NewOrder> | null)?.id)}`));
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw new InvalidOrderError(problems.slice(0, MAX_PROBLEMS));
}

export function checkReportedPayment(payment: { readonly reference: string }): void {
  check(moduleSchemas.payment, payment, `payment ${shown(payment.reference)}`);
}

export function checkNewAttempt(attempt: OrderAttempt): void {
  check(moduleSchemas.attempt, attempt, `attempt of order ${shown(attempt.orderId)}`);
}

export function checkRequest(
  what: 'deadline' | 'cancellation' | 'autoClose' | 'refund' | 'revival' | 'reveal' | 'close',
  request: { readonly orderId: string },
): void {
  check(moduleSchemas[what], request, `order ${shown(request.orderId)}`);
}

export function checkUnmatched(what: 'settlement' | 'assignment', request: { readonly id: string }): void {
  check(moduleSchemas[what], request, `unmatched payment ${shown(request.id)}`);
}

function check(schema: z.ZodType, input: unknown, label: string): void {
  const { error } = schema.safeParse(input, { reportInput: true });
  if (error) throw new InvalidOrderError(sentences(error, label));
}

function sentences(error: z.ZodError, label: string): string[] {
  const inputs = new Map(error.issues.map(({ path, input }) => [path.map(String).join('.'), input]));
  return problemsOf(error).map((problem) => `${label}: ${toSentence(problem)}${got(inputs.get(problem.path))}`);
}

function got(input: unknown): string {
  const isScalar = ['string', 'number', 'bigint', 'boolean'].includes(typeof input);
  return isScalar ? ` (got ${shown(input)})` : '';
}

function shown(input: unknown): string {
  const text = typeof input === 'string' ? JSON.stringify(input) : String(input);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/**
 * Checks a bulk action and who asks for it.
 *
 * @throws InvalidOrderError with all problems.
 */
export function checkBulk(
  what: 'bulk' | 'bulkExtension',
  request: unknown,
  options: { readonly by?: { readonly actor?: unknown } } | undefined,
): void {
  const problems = problemsIn(moduleSchemas[what], request);
  const actor = moduleSchemas.actor.safeParse(options?.by?.actor);
  if (!actor.success) problems.push('by.actor is missing; name who acts, for the history of the orders');
  if (problems.length > 0) throw new InvalidOrderError(problems);
}

/**
 * Checks which page of orders is wanted, and returns where it begins.
 *
 * @throws InvalidOrderError with all problems.
 */
export function checkPage(page: { readonly cursor?: string | undefined }): OrderPosition | undefined {
  const problems = problemsIn(moduleSchemas.page, page);
  if (problems.length > 0) throw new InvalidOrderError(problems);
  return page.cursor === undefined ? undefined : decodePosition(page.cursor);
}

function problemsIn(schema: z.ZodType, input: unknown): string[] {
  const { error } = schema.safeParse(input);
  return error ? problemsOf(error).map(toSentence) : [];
}

/** Money as a provider states it. An adapter may be plain JavaScript, so it is checked like any other input. */
const moneySchema = z.object({
  amount: moduleFields.amount.transform(BigInt),
  currency: moduleFields.currency,
});

/** Odd characters in it do not make it less of a payment. */
const transactionId = z.preprocess(
  (text) => (typeof text === 'string' ? [...storableText(text)].slice(0, LIMITS.transactionId).join('') : text),
  moneyFields.transactionId,
);

const paymentSchema = moneySchema.extend({ paidAt: moneyFields.instant, transactionId });

/** Stored instead of an amount that is not money. XXX is the code of ISO 4217 for "no currency". */
const NO_MONEY = { amount: 0n, currency: 'XXX' } as const;

interface Stated {
  readonly amount: bigint;
  readonly currency: string;
}

export function readPayment<P extends Stated>(payment: P): { readonly payment: P } | { readonly problem: string } {
  const { data, error } = paymentSchema.safeParse(payment);
  if (data) return { payment: { ...payment, ...data } };
  return { problem: problemsOf(error).map(toSentence).join('; ') };
}

export function isMoney(stated: Stated): boolean {
  return moneySchema.safeParse(stated).success;
}

/** Pure: the money to store for a person. What is not money becomes evidence. */
export function storableMoney<P extends Stated & { readonly evidence: object }>(
  stated: P,
  isValid = isMoney(stated),
): Stated & { readonly evidence: Readonly<Record<string, unknown>> } {
  const { amount, currency, evidence } = stated;
  if (isValid) return { amount: BigInt(amount), currency, evidence: { ...evidence } };
  return {
    ...NO_MONEY,
    evidence: { ...evidence, stated: { amount: shortened(amount), currency: shortened(currency) } },
  };
}

function shortened(value: unknown): string {
  return String(value).slice(0, 40);
}
