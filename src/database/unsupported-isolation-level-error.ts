import { CodedError } from '../errors';

/** A caller's transaction reads from a snapshot that may be older than the lock on the order. Nothing was written. */
export class UnsupportedIsolationLevelError extends CodedError {
  /** @param level as PostgreSQL names it, e.g. `REPEATABLE READ`. */
  constructor(readonly level: string) {
    super(
      'UNSUPPORTED_ISOLATION_LEVEL',
      `this transaction is ${level}: it could miss a payment attempt that was registered after its snapshot. ` +
        'Start it at READ COMMITTED, or call without a transaction',
    );
  }
}
