import { type z } from 'zod';
import { InvalidOrderError } from '../invalid-order-error';
import { type OrderPosition } from '../read/order-position';
import { decodePosition } from '../read/order-position';
import { problemsOf, toSentence } from './input-problem';
import { moduleSchemas } from './module-schemas';

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
