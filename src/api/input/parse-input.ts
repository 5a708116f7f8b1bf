import { type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { type z } from 'zod';
import { MAX_PROBLEMS, problemsOf } from '../../orders/input';
import { type Refusal, reject } from './refusals';

/** Validates a body, a parameter, or a command, for example `@Body(new InputPipe(schema))`. */
export class InputPipe<T> implements PipeTransform<unknown, T> {
  constructor(private readonly schema: z.ZodType<T>) {}

  transform(value: unknown, { data }: ArgumentMetadata): T {
    return parseInput(this.schema, value, data);
  }
}

/**
 * Validates `input` and transforms it by `schema`.
 *
 * @param at where `input` is in the request, for example the name of a path parameter.
 * @throws RequestRejectedError `VALIDATION_FAILED` with every problem, at most 50.
 */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown, at?: string): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const body = at === undefined ? 'the body must be a JSON object, sent with content-type application/json' : undefined;
  const errors = problemsOf(parsed.error, body, at === undefined ? [] : [at]).slice(0, MAX_PROBLEMS);
  throw reject('', { code: 'VALIDATION_FAILED', errors });
}

/** Returns an accepted outcome of a use case. Throws a refusal as an error. */
export function accepted<T extends { readonly outcome: string }>(
  id: string,
  result: T,
): Exclude<T, { outcome: 'rejected' }> {
  if (result.outcome === 'rejected') throw reject(id, result as unknown as Refusal);
  return result as Exclude<T, { outcome: 'rejected' }>;
}
