import { createHash, timingSafeEqual } from 'node:crypto';
import { InvalidOptionsError } from '../../errors';
import { LIMITS } from '../../orders';
import { MerchantScope } from './merchant-scope';

/** What a key may do. `*` allows everything. */
export const API_SCOPES = ['orders:read', 'orders:write', 'inventory:write', 'admin', '*'] as const;

export type ApiScope = (typeof API_SCOPES)[number];

interface ApiKey {
  readonly name: string;
  readonly hash: Buffer;
  readonly scopes: ReadonlySet<string>;
  readonly merchants: MerchantScope;
}

/** The owner of an API key. */
export interface KeyHolder {
  readonly name: string;
  /** The merchants whose orders and stock the key may access. */
  readonly scope: MerchantScope;
  may(scopes: readonly ApiScope[]): boolean;
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const SHA256_HEX = /^[0-9a-f]{64}$/i;

/**
 * The keys of the HTTP API, as `name:sha256hex:scopes` or `name:sha256hex:scopes@merchants`. Scopes and merchant ids
 * are joined by `+`, which neither contains, and no scope contains `@`. Only hashes of keys are stored.
 */
export class ApiKeys {
  private readonly keys: readonly ApiKey[];

  /** @throws InvalidOptionsError with every invalid entry, by its number and without its content. */
  constructor(entries: readonly string[]) {
    const problems = findApiKeyProblems(entries);
    if (problems.length > 0) throw new InvalidOptionsError('API keys', problems);
    this.keys = entries.map(toKey);
  }

  /** Compares with all keys in constant time, so the duration reveals neither which key matches nor how much of it. */
  find(presented: string): KeyHolder | undefined {
    const hash = createHash('sha256').update(presented).digest();
    const found = this.keys.filter((key) => timingSafeEqual(key.hash, hash))[0];
    if (!found) return undefined;
    const { name, scopes, merchants } = found;
    return { name, scope: merchants, may: (wanted) => scopes.has('*') || wanted.some((scope) => scopes.has(scope)) };
  }
}

/** Lists all problems of the entries. */
export function findApiKeyProblems(entries: readonly string[]): string[] {
  const problems = entries.flatMap((entry, index) => problemsOf(entry, `API key ${index + 1}`));
  const names = entries.map((entry) => partsOf(entry).name);
  const twice = new Set(names.filter((name, index) => name !== '' && names.indexOf(name) !== index));
  return [...problems, ...[...twice].map((name) => `API key name "${name}" is used twice`)];
}

function problemsOf(entry: string, at: string): string[] {
  const { name, hash, scopes, merchants } = partsOf(entry);
  const isMerchant = (id: string): boolean => LIMITS.id.test(id);
  const unknown = scopes.filter((scope) => !(API_SCOPES as readonly string[]).includes(scope));
  return [
    ...(NAME.test(name) ? [] : [`${at} must begin with a name of letters, digits, "_", "-" or "."`]),
    ...(SHA256_HEX.test(hash) ? [] : [`${at} must have the SHA-256 of the key, 64 hex digits, after its name`]),
    ...(unknown.length > 0 ? [`${at} has unknown scopes; there are ${API_SCOPES.join(', ')}, joined by "+"`] : []),
    ...(merchants.every(isMerchant) ? [] : [`${at} must have merchant ids after "@", joined by "+"`]),
  ];
}

interface KeyParts {
  readonly name: string;
  readonly hash: string;
  readonly scopes: readonly string[];
  /** Empty: all merchants. */
  readonly merchants: readonly string[];
}

/** Scopes and merchant ids may contain colons. */
function partsOf(entry: string): KeyParts {
  const [name = '', hash = '', ...rest] = entry.split(':');
  const [scopes = '', ...ids] = rest.join(':').split('@');
  return { name, hash, scopes: scopes.split('+'), merchants: ids.length === 0 ? [] : ids.join('@').split('+') };
}

function toKey(entry: string): ApiKey {
  const { name, hash, scopes, merchants } = partsOf(entry);
  const scope = MerchantScope.ofKey(name, merchants);
  return { name, hash: Buffer.from(hash, 'hex'), scopes: new Set(scopes), merchants: scope };
}
