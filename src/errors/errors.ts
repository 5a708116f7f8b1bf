import { type LoggerService } from '@nestjs/common';

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

/** Options or environment variables are invalid. Lists all of them, so that one restart is enough. */
export class InvalidOptionsError extends CodedError {
  constructor(
    /** @internal */
    readonly subject: string,
    readonly problems: readonly string[],
  ) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    super('INVALID_OPTIONS', `${subject}: ${count}: ${problems.join('; ')}`);
  }

  /** @internal Those of such an error, or the message of another one. */
  static problemsIn(error: unknown): readonly string[] {
    return error instanceof InvalidOptionsError ? error.problems : [messageOf(error)];
  }
}

/** An optional package is required and not installed. */
export class MissingPackageError extends CodedError {
  constructor(
    entryPoint: string,
    readonly packageName: string,
  ) {
    super(
      'MISSING_PACKAGE',
      `${entryPoint} needs the package "${packageName}", which is not installed; run: npm install ${packageName}`,
    );
  }
}

/** What fails now and then is said to begin to fail at most this often. */
const REPEAT_MS = 60_000;

/** Logs when something begins to fail and when it works again, once each: what is down fails thousands of times. */
export class FailureLog {
  private failures = 0;
  /** That it fails. */
  private isSaid = false;
  private saidAt = -Infinity;

  /** @param now monotonic, milliseconds @param threshold consecutive failures from which on it fails */
  constructor(
    private readonly logger: Pick<LoggerService, 'log' | 'warn'>,
    private readonly now: () => number,
    private readonly threshold = 1,
  ) {}

  failed(message: string): void {
    this.failures += 1;
    if (this.isSaid || this.failures < this.threshold || this.now() - this.saidAt < REPEAT_MS) return;
    [this.isSaid, this.saidAt] = [true, this.now()];
    this.logger.warn(message);
  }

  worked(message: string): void {
    if (this.isSaid) this.logger.log(message);
    this.isSaid = false;
    this.failures = 0;
  }
}

/** Some errors have no message, such as an AggregateError of a connection. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
