import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { InvalidOptionsError } from '../../errors';
import { LIMITS } from '../../orders';
import { MerchantScope } from './api-request';

/** The keys of the HTTP API, as `name:sha256hex:scopes` or `name:sha256hex:scopes@merchants`. Only hashes are stored. */
export class ApiKeys {
  private readonly keys: readonly KeyEntry[];

  /** @throws InvalidOptionsError with every invalid entry, by its number and without its content. */
  constructor(entries: readonly string[]) {
    this.keys = readKeyEntries(entries, API_KEY);
  }

  /** The owner of this key. Undefined: nobody. */
  find(presented: string): KeyHolder | undefined {
    const found = findKey(this.keys, presented);
    if (!found) return undefined;
    const { name, scope, grants } = found;
    return { name, scope, may: (wanted) => grants.has('*') || wanted.some((one) => grants.has(one)) };
  }
}

/** The keys of the operator page, as `name:sha256hex:roles` or `name:sha256hex:roles@merchants`. Only hashes are stored. */
export class OperatorKeys {
  private readonly keys: readonly KeyEntry[];

  /** @throws InvalidOptionsError with every invalid entry, by its number and without its content. */
  constructor(entries: readonly string[]) {
    this.keys = readKeyEntries(entries, OPERATOR_KEY);
  }

  /** Without keys, the page is closed. */
  get isEmpty(): boolean {
    return this.keys.length === 0;
  }

  /** The owner of this key. Undefined: nobody. */
  find(presented: string): Operator | undefined {
    const found = findKey(this.keys, presented);
    return found && toOperator(found);
  }

  /** The owner with this name. Undefined: the key was removed. */
  named(name: string): Operator | undefined {
    const found = this.keys.find((key) => key.name === name);
    return found && toOperator(found);
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

/**
 * Reads keys of the form `name:sha256hex:grants` or `name:sha256hex:grants@merchants`. Grants and merchant ids are joined
 * by `+`, which neither contains, and no grant contains `@`.
 *
 * @throws InvalidOptionsError with every invalid entry, by its number and without its content.
 */
function readKeyEntries(entries: readonly string[], format: KeyFormat): readonly KeyEntry[] {
  const problems = findKeyProblems(entries, format);
  if (problems.length > 0) throw new InvalidOptionsError(`${format.what}s`, problems);
  return entries.map(toKey);
}

/** Compares with all keys in constant time, so the duration reveals neither which key matches nor how much of it. */
function findKey(keys: readonly KeyEntry[], presented: string): KeyEntry | undefined {
  const hash = createHash('sha256').update(presented).digest();
  return keys.filter((key) => timingSafeEqual(key.hash, hash))[0];
}

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
