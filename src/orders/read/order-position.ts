import { LIMITS } from '../limits';

/** A place in the list of orders, which is sorted by creation, newest first, and then by id. */
export interface OrderPosition {
  readonly createdAt: Date;
  readonly id: string;
}

/** The position as text for callers, who must not rely on its content. */
export function encodePosition({ createdAt, id }: OrderPosition): string {
  return Buffer.from(`${createdAt.getTime()} ${id}`).toString('base64url');
}

/** Undefined: not a text that `encodePosition` returned. */
export function decodePosition(text: string): OrderPosition | undefined {
  const [, ms, id = ''] = /^(\d{1,15}) (.+)$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  const createdAt = new Date(Number(ms));
  return createdAt <= LIMITS.latest && LIMITS.id.test(id) ? { createdAt, id } : undefined;
}
