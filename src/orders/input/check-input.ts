import { type z } from 'zod';
import { InvalidOrderError } from '../model/errors';
import { type NewOrder, type OrderAttempt } from '../model/new-order';
import { type OrderPosition, decodePosition } from '../model/order-filter';
import { MAX_PROBLEMS, problemsOf, toSentence } from './fields';
import { moduleSchemas } from './schemas';

// HTTP and AMQP have validated their input. A caller in the same process may be plain JavaScript, or may have computed
// an amount with fractions, so the same limits are checked here.

const MAX_SHOWN = 40;

/** @throws InvalidOrderError with at most 50 problems of all orders. */
export function checkNewOrders(orders: readonly NewOrder[]): void {
  let problems: string[] = [];
  for (const order of orders) {
    const { error } = moduleSchemas.order.safeParse(order, { reportInput: true });
    if (error) problems = problems.concat(sentences(error, `order ${shown((order as Partial<NewOrder> | null)?.id)}`));
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw new InvalidOrderError(problems.slice(0, MAX_PROBLEMS));
}

/** Checks a reported payment. @throws InvalidOrderError with all problems. */
export function checkReportedPayment(payment: { readonly reference: string }): void {
  check(moduleSchemas.payment, payment, `payment ${shown(payment.reference)}`);
}

/** Checks a payment attempt of an order. @throws InvalidOrderError with all problems. */
export function checkNewAttempt(attempt: OrderAttempt): void {
  check(moduleSchemas.attempt, attempt, `attempt of order ${shown(attempt.orderId)}`);
}

/** Checks any other request for one order. @throws InvalidOrderError with all problems. */
export function checkRequest(
  what: 'deadline' | 'cancellation' | 'autoClose' | 'refund' | 'revival' | 'reveal' | 'close',
  request: { readonly orderId: string },
): void {
  check(moduleSchemas[what], request, `order ${shown(request.orderId)}`);
}

/** Checks an operator's request for an unmatched payment. @throws InvalidOrderError with all problems. */
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
