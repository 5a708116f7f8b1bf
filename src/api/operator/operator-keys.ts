import { createHmac } from 'node:crypto';
import { findKey, findKeyProblems, type KeyEntry, type KeyFormat, type MerchantScope, readKeyEntries } from '../http';

/**
 * What an operator may do.
 * - `read`: see everything but personal data. Every other role includes it.
 * - `operate`: act on orders, timeouts, messages, kinds, and providers.
 * - `money`: refund, revive, settle, reopen, and assign.
 * - `reveal`: see metadata and evidence of orders, which is logged.
 */
export const OPERATOR_ROLES = ['read', 'operate', 'money', 'reveal'] as const;

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

const FORMAT: KeyFormat = { what: 'operator key', grantsAre: 'roles', grants: OPERATOR_ROLES };

/** The keys of the operator page, as `name:sha256hex:roles` or `name:sha256hex:roles@merchants`. Only hashes are stored. */
export class OperatorKeys {
  private readonly keys: readonly KeyEntry[];

  /** @throws InvalidOptionsError with every invalid entry, by its number and without its content. */
  constructor(entries: readonly string[]) {
    this.keys = readKeyEntries(entries, FORMAT);
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

/** Lists all problems of the entries. */
export function findOperatorKeyProblems(entries: readonly string[]): string[] {
  return findKeyProblems(entries, FORMAT);
}

function toOperator({ name, grants, scope, hash }: KeyEntry): Operator {
  const roles = OPERATOR_ROLES.filter((role) => role === 'read' || grants.has(role));
  return { name, roles, scope, secret: createHmac('sha256', hash).update('order-timeout operator session').digest() };
}
