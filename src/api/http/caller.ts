import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { InvalidOptionsError } from '../../errors';
import { LIMITS, merchantTimeouts } from '../../orders';
import { type TimeoutScope } from '../../timeouts';
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

/** How the service parses a body depends on it: signed bytes of a provider, many orders in JSON, or other JSON. */
export function isNotification({ url }: IncomingMessage): boolean {
  return /^\/payments\/[^/]+\/notify$/.test(pathOf(url));
}

export function isBulkOfJson(request: IncomingMessage): boolean {
  return isJson(request) && isBulk(request);
}

export function isOtherJson(request: IncomingMessage): boolean {
  return isJson(request) && !isBulk(request) && !isNotification(request);
}

function isBulk({ url }: IncomingMessage): boolean {
  return pathOf(url) === '/orders/bulk';
}

function isJson({ headers }: IncomingMessage): boolean {
  return /^application\/(json|[\w.-]+\+json)\s*(;|$)/i.test(headers['content-type'] ?? '');
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

  /** The timeouts of their orders, in the tables of this schema. Undefined: all timeouts. */
  timeouts(schema: string): TimeoutScope | undefined {
    return this.merchants && merchantTimeouts(schema, this.merchants);
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

/** Configured keys of one kind, `name:sha256hex:grants` or `name:sha256hex:grants@merchants`. Only hashes are stored. */
class HashedKeys<Owner> {
  private readonly keys: readonly KeyEntry[];

  /** @throws InvalidOptionsError with every invalid entry, by its number and without its content. */
  protected constructor(
    entries: readonly string[],
    format: KeyFormat,
    private readonly toOwner: (key: KeyEntry) => Owner,
  ) {
    const problems = findKeyProblems(entries, format);
    if (problems.length > 0) throw new InvalidOptionsError(`${format.what}s`, problems);
    this.keys = entries.map(toKey);
  }

  get isEmpty(): boolean {
    return this.keys.length === 0;
  }

  /**
   * The owner of this key. Undefined: nobody. Compares with all keys in constant time, so the duration reveals neither which
   * key matches nor how much of it.
   */
  find(presented: string): Owner | undefined {
    const hash = createHash('sha256').update(presented).digest();
    return this.keys.filter((key) => timingSafeEqual(key.hash, hash)).map(this.toOwner)[0];
  }

  /** The owner with this name. Undefined: the key was removed. */
  named(name: string): Owner | undefined {
    return this.keys.filter((key) => key.name === name).map(this.toOwner)[0];
  }
}

/** The keys of the HTTP API. Their grants are scopes. */
export class ApiKeys extends HashedKeys<KeyHolder> {
  constructor(entries: readonly string[]) {
    super(entries, API_KEY, toHolder);
  }
}

/** The keys of the operator page, which is closed without any. Their grants are roles. */
export class OperatorKeys extends HashedKeys<Operator> {
  constructor(entries: readonly string[]) {
    super(entries, OPERATOR_KEY, toOperator);
  }
}

/** What an API key may do. `*` allows everything. */
const API_SCOPES = ['orders:read', 'orders:write', 'inventory:write', 'admin', '*'] as const;

export type ApiScope = (typeof API_SCOPES)[number];

/** The owner of an API key. */
export interface KeyHolder {
  readonly name: string;
  /** The merchants whose orders and stock the key may access. */
  readonly scope: MerchantScope;
  may(scopes: readonly ApiScope[]): boolean;
}

const API_KEY: KeyFormat = { what: 'API key', grantsAre: 'scopes', grants: API_SCOPES };

/** Lists all problems of the entries. */
export function findApiKeyProblems(entries: readonly string[]): string[] {
  return findKeyProblems(entries, API_KEY);
}

function toHolder({ name, scope, grants }: KeyEntry): KeyHolder {
  return { name, scope, may: (wanted) => grants.has('*') || wanted.some((one) => grants.has(one)) };
}

/**
 * What an operator may do.
 * - `read`: see everything but personal data. Every other role includes it.
 * - `operate`: act on orders, timeouts, messages, kinds, and providers.
 * - `money`: refund, revive, settle, reopen, and assign.
 * - `reveal`: see metadata and evidence of orders, which is logged.
 */
const OPERATOR_ROLES = ['read', 'operate', 'money', 'reveal'] as const;

export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** The owner of an operator key. */
export interface Operator {
  readonly name: string;
  readonly roles: readonly OperatorRole[];
  /** The merchants whose orders the operator may see and change. */
  readonly scope: MerchantScope;
  /** Signs the sessions of this key. It changes with the key. */
  readonly secret: Buffer;
}

const OPERATOR_KEY: KeyFormat = { what: 'operator key', grantsAre: 'roles', grants: OPERATOR_ROLES };

/** Lists all problems of the entries. */
export function findOperatorKeyProblems(entries: readonly string[]): string[] {
  return findKeyProblems(entries, OPERATOR_KEY);
}

function toOperator({ name, grants, scope, hash }: KeyEntry): Operator {
  const roles = OPERATOR_ROLES.filter((role) => role === 'read' || grants.has(role));
  return { name, roles, scope, secret: createHmac('sha256', hash).update('order-timeout operator session').digest() };
}

/** A configured key. */
interface KeyEntry {
  readonly name: string;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
  /** What the key may do. */
  readonly grants: ReadonlySet<string>;
  /** The merchants whose orders and stock the key may access. */
  readonly scope: MerchantScope;
}

/** What one kind of keys is called, and what keys of this kind may do. */
interface KeyFormat {
  /** For messages: `API key`. */
  readonly what: string;
  /** For messages: `scopes`. */
  readonly grantsAre: string;
  readonly grants: readonly string[];
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

const SHA256_HEX = /^[0-9a-f]{64}$/i;

/** Lists all problems of the entries. */
function findKeyProblems(entries: readonly string[], format: KeyFormat): string[] {
  const problems = entries.flatMap((entry, index) => problemsOf(entry, `${format.what} ${index + 1}`, format));
  const names = entries.map((entry) => partsOf(entry).name);
  const twice = new Set(names.filter((name, index) => name !== '' && names.indexOf(name) !== index));
  return [...problems, ...[...twice].map((name) => `${format.what} name "${name}" is used twice`)];
}

function problemsOf(entry: string, at: string, { grants, grantsAre }: KeyFormat): string[] {
  const { name, hash, given, merchants } = partsOf(entry);
  const isMerchant = (id: string): boolean => LIMITS.id.test(id);
  const unknown = given.filter((grant) => !grants.includes(grant));
  return [
    ...(NAME.test(name) ? [] : [`${at} must begin with a name of letters, digits, "_", "-" or "."`]),
    ...(SHA256_HEX.test(hash) ? [] : [`${at} must have the SHA-256 of the key, 64 hex digits, after its name`]),
    ...(unknown.length > 0 ? [`${at} has unknown ${grantsAre}; there are ${grants.join(', ')}, joined by "+"`] : []),
    ...(merchants.every(isMerchant) ? [] : [`${at} must have merchant ids after "@", joined by "+"`]),
  ];
}

interface KeyParts {
  readonly name: string;
  readonly hash: string;
  readonly given: readonly string[];
  /** Empty: all merchants. */
  readonly merchants: readonly string[];
}

/** Grants and merchant ids may contain colons. They are joined by `+`, which neither contains, and no grant contains `@`. */
function partsOf(entry: string): KeyParts {
  const [name = '', hash = '', ...rest] = entry.split(':');
  const [grants = '', ...ids] = rest.join(':').split('@');
  return { name, hash, given: grants.split('+'), merchants: ids.length === 0 ? [] : ids.join('@').split('+') };
}

function toKey(entry: string): KeyEntry {
  const { name, hash, given, merchants } = partsOf(entry);
  const scope = MerchantScope.ofKey(name, merchants);
  return { name, hash: Buffer.from(hash, 'hex'), grants: new Set(given), scope };
}
