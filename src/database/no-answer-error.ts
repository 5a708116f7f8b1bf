import { CodedError } from '../errors';

/** PostgreSQL, or the network, is silent. It is unknown whether the statement was executed. */
export class NoAnswerError extends CodedError {
  constructor(
    what: string,
    readonly limitMs?: number,
  ) {
    const within = limitMs === undefined ? '' : ` within ${limitMs} ms`;
    super('DATABASE_NO_ANSWER', `${what}${within}; the connection is closed, and the work is tried again`);
  }
}
