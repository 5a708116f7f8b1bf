import { type IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { isIPv6 } from 'node:net';
import { HttpProblem, reject } from '../input';

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

/** Parameter: the MerchantScope of the caller. */
export const CallerScope = createParamDecorator((_: unknown, context: ExecutionContext): MerchantScope => {
  return context.switchToHttp().getRequest<ApiRequest>().orderTimeoutScope ?? MerchantScope.EVERYBODY;
});

/**
 * The path by which Express and Fastify route a request: without scheme and host (which proxies send), query, and
 * trailing slash, in lower case, because Express ignores case.
 */
export function pathOf(url: string | undefined): string {
  const path = (url ?? '').replace(/^https?:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
  return path.replace(/(?<=.)\/$/, '').toLowerCase();
}

/**
 * The origin of a request: its IPv4 address, or its IPv6 /64 network, because one machine has at least a /64. Uses
 * `request.ip`, so headers are trusted only as far as the host's `trust proxy` allows.
 */
export function remoteNetworkOf({ ip, socket }: ApiRequest): string {
  const address = withoutPort(ip ?? socket?.remoteAddress ?? 'unknown');
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  return isIPv6(address) ? networkOf(address) : address;
}

/** Some proxies append the port of the client, which differs for each connection. */
function withoutPort(address: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
}

/** The first four of eight groups, with `::` written out. */
function networkOf(address: string): string {
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const rest = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - groups.length - rest.length) }, () => '0');
  const all = tail === undefined ? groups : [...groups, ...zeros, ...rest];
  return `${all
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

/**
 * The merchants whose orders and stock a caller may see and change: all, or some. Requests for objects of other
 * merchants must be answered as if the objects did not exist.
 */
export class MerchantScope {
  /** The scope of keys without merchants, and of hosts that protect the routes themselves. */
  static readonly EVERYBODY = new MerchantScope('', undefined);

  private constructor(
    private readonly keyName: string,
    private readonly ids: ReadonlySet<string> | undefined,
  ) {}

  /** @param merchants empty: all merchants. */
  static ofKey(keyName: string, merchants: readonly string[]): MerchantScope {
    return merchants.length === 0 ? MerchantScope.EVERYBODY : new MerchantScope(keyName, new Set(merchants));
  }

  /** Undefined: all merchants. */
  get merchants(): readonly string[] | undefined {
    return this.ids && [...this.ids];
  }

  get isRestricted(): boolean {
    return this.ids !== undefined;
  }

  allows(merchantId: string): boolean {
    return this.ids === undefined || this.ids.has(merchantId);
  }

  /**
   * The merchant of a new object: the one that the request names, or else the key's only one. Undefined: the key is not
   * restricted, and the request names none.
   *
   * @param named merchant that the request names.
   * @param path where the request names it, for the error.
   * @throws HttpProblem FORBIDDEN for another merchant.
   * @throws RequestRejectedError VALIDATION_FAILED when the key has several merchants and the request names none.
   */
  merchantFor(named: string | undefined, path = 'merchantId'): string | undefined {
    if (named !== undefined && !this.allows(named))
      throw this.forbidden(`${path} "${named}" is not a merchant of this API key`);
    if (named !== undefined || this.ids === undefined) return named;
    const [only, second] = this.ids;
    if (second === undefined) return only;
    const message = `is missing; the API key has several merchants, so name one of them: ${[...this.ids].join(', ')}`;
    throw reject('', { code: 'VALIDATION_FAILED', errors: [{ path, message }] });
  }

  /**
   * The merchants among which a list may search. Undefined: all.
   *
   * @param named merchant that the request wants alone.
   * @throws HttpProblem FORBIDDEN for another merchant.
   */
  visible(named: string | undefined, path = 'merchantId'): readonly string[] | undefined {
    if (named === undefined || this.allows(named)) return this.merchants;
    throw this.forbidden(`${path} "${named}" is not a merchant of this API key`);
  }

  /** The error for an object of another merchant. */
  forbidden(what: string): HttpProblem {
    const merchants = [...(this.ids ?? [])].join(', ');
    return new HttpProblem('FORBIDDEN', `${what}; key "${this.keyName}" is limited to ${merchants}`);
  }
}
