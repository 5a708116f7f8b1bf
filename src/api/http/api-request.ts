import { type IncomingHttpHeaders } from 'node:http';
import { type MerchantScope } from './merchant-scope';

/** What we read of a request; the same in Express and Fastify. */
export interface ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The sender's address, as far as the host's `trust proxy` tells. */
  readonly ip?: string | undefined;
  readonly socket?: { readonly remoteAddress?: string | undefined };
  readonly params?: Readonly<Record<string, unknown>>;
  /** Name of the API key, once the guard has let the request in. */
  orderTimeoutActor?: string;
  /** Whose objects it opens, set with the name; absent where the host guards the routes itself. */
  orderTimeoutScope?: MerchantScope;
}

/** One header; undefined where it is missing or was sent several times. */
export function headerOf({ headers }: ApiRequest, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}
