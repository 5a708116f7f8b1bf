import { type IncomingHttpHeaders } from 'node:http';
import { HttpProblem } from './http-problem';
import { type MerchantScope } from './merchant-scope';

/** The fields of a request that are read. They are the same in Express and Fastify. */
export interface ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The sender's address, by the host's `trust proxy` setting. */
  readonly ip?: string | undefined;
  /** `https` if the request came over TLS, by the host's `trust proxy` setting. */
  readonly protocol?: string | undefined;
  readonly socket?: { readonly remoteAddress?: string | undefined };
  readonly params?: Readonly<Record<string, unknown>>;
  /** Name of the API key. Set when the guard admits the request. */
  orderTimeoutActor?: string;
  /** Merchants of the API key, set with the name. Absent if the host protects the routes itself. */
  orderTimeoutScope?: MerchantScope;
}

/** One header. Undefined if it is missing or repeated. */
export function headerOf({ headers }: ApiRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * Refuses a key that would promise what this request cannot keep: its repetition changes something again.
 *
 * @param instead what to send, which may be repeated
 */
export function refuseIdempotencyKey({ headers }: ApiRequest, instead: string): void {
  if (headers['idempotency-key'] === undefined) return;
  const reason = `this request takes effect each time, with an Idempotency-Key too; ${instead}, or leave the header out`;
  throw new HttpProblem('IDEMPOTENCY_KEY_UNSUPPORTED', reason);
}
