import { type DataSource } from 'typeorm';
import { SystemClock } from '../clock';
import { isDiskFull, isSchemaUnusable, isServerRefusing } from './database-errors';

/** After that, work is tried again: only work shows whether the server takes it. */
const REFUSING_MS = 5_000;

const clock = new SystemClock();
/** Monotonic milliseconds. */
const refusedAt = new WeakMap<DataSource, number>();
/** The same, of refusals about which the commit of other work says nothing. */
const unusableAt = new WeakMap<DataSource, number>();

/** Remembers that the server has refused what all work needs. Other errors say nothing. */
export function noteFailure(dataSource: DataSource, error: unknown): void {
  if (isServerRefusing(error)) refusedAt.set(dataSource, clock.monotonic());
}

/**
 * Remembers that a transaction met a table that cannot be used, or a full disk. Whether others are committed meanwhile
 * depends on the tables that they need.
 */
export function noteUnusable(dataSource: DataSource, error: unknown): void {
  if (isSchemaUnusable(error) || isDiskFull(error)) unusableAt.set(dataSource, clock.monotonic());
}

/** A transaction of ours was committed. */
export function noteCommit(dataSource: DataSource): void {
  refusedAt.delete(dataSource);
}

/**
 * Whether the server has refused our work in the last five seconds. If it was a login, and a later transaction was committed, the
 * open sessions go on. A question cannot find that out: with a full disk, a lost right, or a changed password it is answered, on a
 * session that is open.
 */
export function isRefusingWork(dataSource: DataSource): boolean {
  const now = clock.monotonic();
  return [refusedAt, unusableAt].some((times) => now - (times.get(dataSource) ?? -Infinity) < REFUSING_MS);
}
