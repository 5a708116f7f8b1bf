import { type OrderStatus } from './order';
import { LIMITS } from './order-policies';

/** Which orders. Each field that is given narrows the choice. */
export interface OrderFilter {
  /** Any of these. */
  readonly status?: readonly OrderStatus[] | undefined;
  readonly merchantId?: string | undefined;
  /** Orders with a payment attempt at this provider. */
  readonly provider?: string | undefined;
  /** Orders with a payment attempt of this merchant reference; with `provider`, at that provider. */
  readonly reference?: string | undefined;
  /** Deadlines from this instant on. */
  readonly expiresFrom?: Date | undefined;
  /** Deadlines before this instant. */
  readonly expiresTo?: Date | undefined;
  /** Orders placed from this instant on. */
  readonly createdFrom?: Date | undefined;
  /** Orders placed before this instant. */
  readonly createdTo?: Date | undefined;
}

/** A filter, and the merchants that the caller may see. */
export interface ScopedFilter extends OrderFilter {
  /** Only orders of these merchants. @default all */
  readonly merchants?: readonly string[] | undefined;
  /** Orders with this W3C trace id in their history: 32 hex digits in lower case. */
  readonly trace?: string | undefined;
}

export interface OrderPosition {
  readonly createdAt: Date;
  readonly id: string;
}

/** The position as text for callers, who must not rely on its content. */
export function encodePosition({ createdAt, id }: OrderPosition): string {
  return Buffer.from(`${createdAt.getTime()} ${id}`).toString('base64url');
}

/** Undefined: not a text that `encodePosition` returned. The order may have an id that a new one may not have. */
export function decodePosition(text: string): OrderPosition | undefined {
  const [, ms, id = ''] = /^(\d{1,15}) ([!-~]{1,64})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  const createdAt = new Date(Number(ms));
  return createdAt <= LIMITS.latest ? { createdAt, id } : undefined;
}
