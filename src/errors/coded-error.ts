/** Every error of ours starts with this, so that it can be told apart in a host's logs. */
const PREFIX = 'ORDER_TIMEOUT';

/**
 * Base of every error this package throws. `code` is stable across releases and survives process
 * boundaries, unlike `instanceof`; the message carries the values and the remedy.
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
