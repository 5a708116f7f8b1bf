import { type ArgumentsHost, Catch, type RpcExceptionFilter } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { z } from 'zod';
import { type ParkReason, type Verdict, type RabbitContext } from '../../rabbit';
import { isContention, isDatabaseAtFault } from '../../database';
import { CodedError } from '../../errors';
import {
  fields,
  newAttemptSchema,
  newDeadlineCommandSchema,
  newOrderSchema,
  orderPageSchema,
  reportedPaymentSchema,
} from '../../orders/input';
import { RequestRejectedError, stockChangeCommandSchema } from '../input';

/** An error in our code may end with the next deployment, or never. After the sixth try a person must look. */
const MAX_FAILURES = 5;

/** Pure: whether a failed command is tried again, delivered again, or parked. @param failures how often it has failed before */
export function judgeCommand(error: unknown, failures: number): Verdict {
  if (error instanceof CommandRejectedError) return { type: 'park', park: error.park };
  if (error instanceof RequestRejectedError) {
    return park({ code: error.rejection, reason: error.reason, details: error.details });
  }
  if (isDatabaseAtFault(error) || isContention(error)) return { type: 'again' };
  return failures >= MAX_FAILURES
    ? park({ code: 'HANDLER_FAILED', reason: describe(error), isFault: true })
    : { type: 'redeliver' };
}

function park(reason: ParkReason): Verdict {
  return { type: 'park', park: reason };
}

function describe(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/**
 * Passes errors of commands on to RabbitServer unchanged. Nest would replace them with "Internal server error".
 * Decides here whether to park the command, because only here the delivered message is known.
 */
@Catch()
export class CommandErrorFilter implements RpcExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): Observable<never> {
    const [{ failures }] = host.switchToRpc().getContext<RabbitContext>().getArgs();
    const verdict = judgeCommand(error, failures);
    return throwError(() => (verdict.type === 'park' ? new CommandRejectedError(verdict.park, error) : error));
  }
}

/** A command that must not be delivered again. Its message is parked with this reason. */
export class CommandRejectedError extends CodedError {
  constructor(
    readonly park: ParkReason,
    cause: unknown,
  ) {
    super(park.code, park.reason, { cause });
  }
}

const ofOrder = { orderId: fields.orderId };

/** The body of each command, by routing key. */
export const COMMAND_SCHEMAS = {
  'order.placed': newOrderSchema,
  'payment.attempted': newAttemptSchema.extend(ofOrder),
  'order.paid': reportedPaymentSchema.extend(ofOrder),
  'order.extended': newDeadlineCommandSchema,
  'order.cancelled': z.strictObject({ ...ofOrder, reason: fields.reason.optional() }),
  'stock.changed': stockChangeCommandSchema,
} as const;

/** The body of each request, by routing key. Requests change nothing: without an answer, they are of no use. */
export const REQUEST_SCHEMAS = {
  'order.read': z.strictObject(ofOrder),
  'orders.read': orderPageSchema,
  'stock.read': z.strictObject({ sku: fields.sku }),
} as const;

export type CommandBody<Name extends keyof typeof COMMAND_SCHEMAS> = z.output<(typeof COMMAND_SCHEMAS)[Name]>;

export type RequestBody<Name extends keyof typeof REQUEST_SCHEMAS> = z.output<(typeof REQUEST_SCHEMAS)[Name]>;
