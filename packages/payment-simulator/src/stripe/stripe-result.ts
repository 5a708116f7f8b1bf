import { type Reply } from '../reply';

/** What Stripe answers with, before it is put on the wire. */
export interface StripeResult {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What Stripe has for an error. */
interface StripeErrorFields {
  readonly message: string;
  readonly code?: string;
  readonly type?: string;
  readonly param?: string;
}

export function ok(body: Readonly<Record<string, unknown>>): StripeResult {
  return { status: 200, body };
}

/** An error object in Stripe's shape. */
export function stripeError(
  status: number,
  { type = 'invalid_request_error', ...error }: StripeErrorFields,
): StripeResult {
  return { status, body: { error: { type, ...error } } };
}

/** The answer about something that is not there. */
export function missing(kind: string, id: string): StripeResult {
  return stripeError(404, { code: 'resource_missing', message: `No such ${kind}: '${id}'`, param: 'intent' });
}

/** The answer on the wire. `now`: epoch milliseconds of the Date header. */
export function toReply({ status, body }: StripeResult, now: number, headers: Record<string, string> = {}): Reply {
  const own = { 'content-type': 'application/json', date: new Date(now).toUTCString() };
  return { type: 'answer', status, body: JSON.stringify(body), headers: { ...own, ...headers } };
}
