import { type ArgumentMetadata, type PipeTransform } from '@nestjs/common';
import { type z } from 'zod';
import { MAX_PROBLEMS, problemsOf, toSentence } from '../../orders/input';
import { CodedError } from '../../errors';

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
  throw new RequestRejectedError('VALIDATION_FAILED', errors.map(toSentence).join('; '), { errors });
}

/** Codes of requests that are refused again if they are repeated unchanged. Stable: part of the API contract. */
export type RejectionCode =
  | 'VALIDATION_FAILED'
  | 'ACTOR_MISSING'
  | 'ORDER_EXISTS'
  | 'IDEMPOTENCY_KEY_REUSED'
  | 'OUT_OF_STOCK'
  | 'UNKNOWN_SKU'
  | 'PAYMENT_WINDOW_OUT_OF_RANGE'
  | 'ATTEMPT_EXISTS'
  | 'TOO_MANY_ATTEMPTS'
  | 'PROVIDER_NOT_CONFIGURED'
  | 'MERCHANT_ACCOUNT_NOT_CONFIGURED'
  | 'ORDER_NOT_FOUND'
  | 'ORDER_EXPIRED'
  | 'ORDER_NOT_PAYABLE'
  | 'ORDER_NOT_PENDING'
  | 'ORDER_NOT_CANCELLABLE'
  | 'ORDER_NOT_FINISHED'
  | 'ORDER_HAS_OPEN_ITEMS'
  | 'ORDER_NOT_REVIVABLE'
  | 'ORDER_NOT_CLOSABLE'
  | 'ORDER_HAS_MONEY'
  | 'UNMATCHED_PAYMENT_NOT_FOUND'
  | 'UNMATCHED_PAYMENT_HANDLED'
  | 'UNMATCHED_PAYMENT_HAS_ORDER'
  | 'PAYMENT_NOT_FOUND'
  | 'PAYMENT_TAKEN'
  | 'PAYMENT_DISPUTED'
  | 'PAYMENT_NOT_BOOKABLE'
  | 'PAYMENT_NEEDED'
  | 'PAYMENT_NOT_CONFIRMED'
  | 'PAYMENT_INSUFFICIENT'
  | 'DEADLINE_OUT_OF_RANGE'
  | 'STOCK_BELOW_RESERVED'
  | 'STOCK_CHANGED'
  | 'STOCK_TOO_LARGE'
  | 'SKU_NOT_FOUND'
  | 'SKU_OF_ANOTHER_MERCHANT';

/** A request or command that is refused because of its content. HTTP answers with a problem, AMQP parks the message. */
export class RequestRejectedError extends CodedError {
  constructor(
    readonly rejection: RejectionCode,
    /** A sentence for people, with the values. */
    readonly reason: string,
    /** The values for programs: members of the problem body. */
    readonly details: Readonly<Record<string, unknown>> = {},
  ) {
    super(rejection, reason);
  }
}
