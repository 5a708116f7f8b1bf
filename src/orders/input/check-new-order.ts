import { type z } from 'zod';
import { MAX_PROBLEMS, problemsOf, toSentence } from './input-problem';
import { moduleSchemas } from './module-schemas';
import { InvalidOrderError } from '../invalid-order-error';
import { type NewAttempt, type NewOrder } from '../place/new-order';

// HTTP and AMQP have checked their input before. A caller in the same process may be plain JavaScript, or have computed
// an amount with fractions: it meets the same limits here.

const MAX_SHOWN = 40;

/** @throws InvalidOrderError naming the problems of every order, at most 50. */
export function checkNewOrders(orders: readonly NewOrder[]): void {
  let problems: string[] = [];
  for (const order of orders) {
    const { error } = moduleSchemas.order.safeParse(order, { reportInput: true });
    if (error) problems = problems.concat(sentences(error, `order ${shown((order as Partial<NewOrder> | null)?.id)}`));
    if (problems.length >= MAX_PROBLEMS) break;
  }
  if (problems.length > 0) throw new InvalidOrderError(problems.slice(0, MAX_PROBLEMS));
}

/** A payment that is reported. @throws InvalidOrderError naming every problem. */
export function checkReportedPayment(payment: { readonly reference: string }): void {
  check(moduleSchemas.payment, payment, `payment ${shown(payment.reference)}`);
}

/** A payment attempt of an order. @throws InvalidOrderError naming every problem. */
export function checkNewAttempt(orderId: string, attempt: NewAttempt): void {
  check(moduleSchemas.attempt, { ...attempt, orderId }, `attempt of order ${shown(orderId)}`);
}

/** What else is asked of one order. @throws InvalidOrderError naming every problem. */
export function checkRequest(
  what: 'deadline' | 'cancellation' | 'autoClose' | 'refund' | 'revival' | 'close',
  request: { readonly orderId: string },
): void {
  check(moduleSchemas[what], request, `order ${shown(request.orderId)}`);
}

/** What an operator asks of unmatched money. @throws InvalidOrderError naming every problem. */
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
