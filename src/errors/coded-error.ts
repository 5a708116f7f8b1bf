/** Prefix of every error code of this package, so that a host's logs tell them apart. */
const PREFIX = 'ORDER_TIMEOUT';

/**
 * Base of every error that this package throws. `code` is stable across releases and survives process boundaries,
 * unlike `instanceof`. The message contains the values and the remedy.
 */
export abstract class CodedError extends Error {
  /** For example `ORDER_TIMEOUT/INVALID_OPTIONS`. */
  readonly code: string;

  protected constructor(code: string, sentence: string, options?: { cause?: unknown }) {
    super(`${PREFIX}/${code}: ${sentence}`, options);
    this.code = `${PREFIX}/${code}`;
    this.name = new.target.name;
  }
}
