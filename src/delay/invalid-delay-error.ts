import { CodedError } from '../errors';

/** A delay that is no number of milliseconds: the caller subtracted something that is not a date. */
export class InvalidDelayError extends CodedError {
  constructor(readonly delayMs: number) {
    super(
      'INVALID_DELAY',
      `a delay must be a finite number of milliseconds (got ${String(delayMs)}); check the due date it was computed from`,
    );
  }
}

/** @throws InvalidDelayError for NaN and ±Infinity, which a broker would take for "at once" or refuse. */
export function assertDelay(delayMs: number): void {
  if (!Number.isFinite(delayMs)) throw new InvalidDelayError(delayMs);
}
