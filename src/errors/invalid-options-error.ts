import { CodedError } from './coded-error';

/** Options or environment are wrong. Names every bad one at once, so that one restart is enough. */
export class InvalidOptionsError extends CodedError {
  constructor(
    subject: string,
    readonly problems: readonly string[],
  ) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    super('INVALID_OPTIONS', `${subject}: ${count}: ${problems.join('; ')}`);
  }
}
