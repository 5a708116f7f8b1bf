import { type JsonObject } from '../../outbox';
import { type DueTimeout, type TimeoutCause } from '../timeout';

/** A row as the locking statements return it. */
export interface LockedRow {
  readonly key: string;
  readonly generation: string;
  readonly due_at: Date;
  readonly attempts: number;
  readonly payload: JsonObject;
  readonly traceparent: string | null;
  readonly asked_since?: Date | null;
  /** Milliseconds until it may be handled; zero or less: now. */
  readonly remaining_ms: number;
}

/** A wanted row; busy: another transaction holds it, so it was only read. */
export type BusyRow = LockedRow & { readonly busy: boolean; readonly leased: boolean };

/** Milliseconds after which a busy row is looked at again: the other transaction is likely to have ended. */
export const BUSY_MS = 200;

/** What the handler sees of a locked row. */
export function toDueTimeout(kind: string, row: LockedRow, cause: TimeoutCause): DueTimeout {
  const { key, generation, due_at: dueAt, attempts, payload, traceparent, asked_since: askedSince } = row;
  const optional = { ...(traceparent && { traceparent }), ...(askedSince && { askedSince }) };
  return { kind, key, generation, dueAt, attempts, payload, cause, ...optional };
}
