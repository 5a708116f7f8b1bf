import { CodedError } from './coded-error';

/** Options or environment variables are invalid. Lists all of them, so that one restart is enough. */
export class InvalidOptionsError extends CodedError {
  constructor(
    subject: string,
    readonly problems: readonly string[],
  ) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
    super('INVALID_OPTIONS', `${subject}: ${count}: ${problems.join('; ')}`);
  }
}
