import { findKey, findKeyProblems, type KeyEntry, type KeyFormat, readKeyEntries } from './key-entries';
import { type MerchantScope } from './merchant-scope';

/** What a key may do. `*` allows everything. */
export const API_SCOPES = ['orders:read', 'orders:write', 'inventory:write', 'admin', '*'] as const;

export type ApiScope = (typeof API_SCOPES)[number];

/** The owner of an API key. */
export interface KeyHolder {
  readonly name: string;
  /** The merchants whose orders and stock the key may access. */
  readonly scope: MerchantScope;
  may(scopes: readonly ApiScope[]): boolean;
}

const FORMAT: KeyFormat = { what: 'API key', grantsAre: 'scopes', grants: API_SCOPES };

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

/** Lists all problems of the entries. */
export function findApiKeyProblems(entries: readonly string[]): string[] {
  return findKeyProblems(entries, FORMAT);
}
