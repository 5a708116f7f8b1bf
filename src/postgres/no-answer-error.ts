import { CodedError } from '../errors';

/** PostgreSQL, or the way to it, is silent. Whether a statement was carried out is not known. */
export class NoAnswerError extends CodedError {
  constructor(
    what: string,
    readonly limitMs: number,
  ) {
    super('DATABASE_NO_ANSWER', `${what} within ${limitMs} ms; the connection is closed, and the work is tried again`);
  }
}
