import { createHash } from 'node:crypto';
import { type NewOrder } from './new-order';

/** Equal for equal content, whatever the order of its keys. Distinguishes a repeated request from a conflicting one. */
export function orderFingerprint(order: NewOrder): string {
  const { merchantId = 'default', autoClose = true, lines = [] } = order;
  // The key identifies the request and is not part of its content.
  const withDefaults = { ...order, merchantId, autoClose, lines, idempotencyKey: undefined };
  return createHash('sha256').update(canonical(withDefaults)).digest('base64url');
}

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (value instanceof Date) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, member]) => member !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
