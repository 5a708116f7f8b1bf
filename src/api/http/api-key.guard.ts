import { type CanActivate, type ExecutionContext, Inject, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { createHash, timingSafeEqual } from 'node:crypto';
import { InvalidOptionsError } from '../../errors';
import { LIMITS } from '../../orders';
import { HttpProblem } from '../input';
import { type ApiRequest, headerOf, MerchantScope } from './api-request';
import { RateLimits } from './rate-limits';

/** Injection token: the keys, or `open` if the host protects the routes itself. */
export const API_KEYS = Symbol('order-timeout:api-keys');

const SCOPES = 'order-timeout:scopes';

/** A key with any one of these scopes may call the route. */
export const RequireScope = (...scopes: [ApiScope, ...ApiScope[]]): MethodDecorator => SetMetadata(SCOPES, scopes);

const UNAUTHENTICATED = { 'WWW-Authenticate': 'Bearer realm="order-timeout"' };

/** The keys of the HTTP API, as `name:sha256hex:scopes` or `name:sha256hex:scopes@merchants`. Only hashes are stored. */
export class ApiKeys {
  private readonly keys: readonly KeyEntry[];

  /** @throws InvalidOptionsError with every invalid entry, by its number and without its content. */
  constructor(entries: readonly string[]) {
    this.keys = readKeyEntries(entries, FORMAT);
  }

  /** The owner of this key. Undefined: nobody. */
  find(presented: string): KeyHolder | undefined {
    const found = findKey(this.keys, presented);
    if (!found) return undefined;
    const { name, scope, grants } = found;
    return { name, scope, may: (wanted) => grants.has('*') || wanted.some((one) => grants.has(one)) };
  }
}

/** Admits requests with a known key and a required scope, and stores the key's name and merchants on the request. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    @Inject(API_KEYS) private readonly keys: ApiKeys | 'open',
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.keys === 'open') return true;
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const holder = await this.holderOf(this.keys, request);
    await this.limits.useKey(holder.name);
    // A route without scopes is a mistake, so only `*` may call it.
    const scopes = this.reflector.get<readonly ApiScope[] | undefined>(SCOPES, context.getHandler()) ?? ['*'];
    if (!holder.may(scopes)) {
      throw new HttpProblem('FORBIDDEN', `key "${holder.name}" lacks the scope ${scopes.join(' or ')}`);
    }
    request.orderTimeoutActor = holder.name;
    request.orderTimeoutScope = holder.scope;
    return true;
  }

  private async holderOf(keys: ApiKeys, request: ApiRequest): Promise<KeyHolder> {
    const presented = presentedKey(request);
    const holder = presented === undefined ? undefined : keys.find(presented);
    if (holder) return holder;
    await this.limits.fail(request);
    const how = 'send an API key as "x-api-key: KEY" or "Authorization: Bearer KEY"';
    throw new HttpProblem('UNAUTHORIZED', presented ? 'the API key is unknown' : how, UNAUTHENTICATED);
  }
}

function presentedKey(request: ApiRequest): string | undefined {
  const own = headerOf(request, 'x-api-key');
  if (own) return own;
  return /^Bearer +(\S+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
}

/** What a key may do. `*` allows everything. */
const API_SCOPES = ['orders:read', 'orders:write', 'inventory:write', 'admin', '*'] as const;

export type ApiScope = (typeof API_SCOPES)[number];

/** The owner of an API key. */
interface KeyHolder {
  readonly name: string;
  /** The merchants whose orders and stock the key may access. */
  readonly scope: MerchantScope;
  may(scopes: readonly ApiScope[]): boolean;
}

const FORMAT: KeyFormat = { what: 'API key', grantsAre: 'scopes', grants: API_SCOPES };

/** Lists all problems of the entries. */
export function findApiKeyProblems(entries: readonly string[]): string[] {
  return findKeyProblems(entries, FORMAT);
}

/** A configured key. */
export interface KeyEntry {
  readonly name: string;
  /** SHA-256 of the key. */
  readonly hash: Buffer;
  /** What the key may do. */
  readonly grants: ReadonlySet<string>;
  /** The merchants whose orders and stock the key may access. */
  readonly scope: MerchantScope;
}

/** What one kind of keys is called, and what keys of this kind may do. */
export interface KeyFormat {
  /** For messages: `API key`. */
  readonly what: string;
  /** For messages: `scopes`. */
  readonly grantsAre: string;
  readonly grants: readonly string[];
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

const SHA256_HEX = /^[0-9a-f]{64}$/i;

/**
 * Reads keys of the form `name:sha256hex:grants` or `name:sha256hex:grants@merchants`. Grants and merchant ids are joined
 * by `+`, which neither contains, and no grant contains `@`.
 *
 * @throws InvalidOptionsError with every invalid entry, by its number and without its content.
 */
export function readKeyEntries(entries: readonly string[], format: KeyFormat): readonly KeyEntry[] {
  const problems = findKeyProblems(entries, format);
  if (problems.length > 0) throw new InvalidOptionsError(`${format.what}s`, problems);
  return entries.map(toKey);
}

/** Compares with all keys in constant time, so the duration reveals neither which key matches nor how much of it. */
export function findKey(keys: readonly KeyEntry[], presented: string): KeyEntry | undefined {
  const hash = createHash('sha256').update(presented).digest();
  return keys.filter((key) => timingSafeEqual(key.hash, hash))[0];
}

/** Lists all problems of the entries. */
export function findKeyProblems(entries: readonly string[], format: KeyFormat): string[] {
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

/** Grants and merchant ids may contain colons. */
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
