import { createHash, timingSafeEqual } from 'node:crypto';
import { InvalidOptionsError } from '../../errors';
import { LIMITS } from '../../orders';
import { MerchantScope } from './merchant-scope';

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
