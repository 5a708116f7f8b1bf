import { CodedError } from '../errors';

/** A delay is not a finite number of milliseconds, because the caller subtracted something that is not a date. */
export class InvalidDelayError extends CodedError {
  constructor(readonly delayMs: number) {
    super(
      'INVALID_DELAY',
      `a delay must be a finite number of milliseconds (got ${String(delayMs)}); check the due date it was computed from`,
    );
  }
}

/** @throws InvalidDelayError for NaN and ±Infinity, which a broker would take for "immediately" or refuse. */
export function assertDelay(delayMs: number): void {
  if (!Number.isFinite(delayMs)) throw new InvalidDelayError(delayMs);
}
