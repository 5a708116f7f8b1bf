import { type DataSource } from 'typeorm';
import { ownQuery } from '../database';

/** How many timeouts of a kind there are. */
export interface TimeoutCounts {
  readonly kind: string;
  readonly pending: number;
  /** Of the pending ones, those that may be handled now. */
  readonly overdue: number;
  readonly parked: number;
}

/** Counts the timeouts of every kind. Reads the whole table: about a second per million. */
export function countTimeouts(dataSource: DataSource, schema: string): Promise<TimeoutCounts[]> {
  return ownQuery(
    dataSource,
    `SELECT kind, (count(*) FILTER (WHERE state = 'pending'))::int AS pending,
            (count(*) FILTER (WHERE state = 'pending' AND next_attempt_at <= now()))::int AS overdue,
            (count(*) FILTER (WHERE state = 'parked'))::int AS parked
       FROM ${schema}.timeout GROUP BY kind ORDER BY kind`,
  );
}
