import { CodedError } from '../errors';

/** Two handlers are bound to the same command. */
export class DuplicateCommandHandlerError extends CodedError {
  constructor(command: string, first: string, second: string) {
    super(
      'DUPLICATE_COMMAND_HANDLER',
      `the command "${command}" is handled by ${first} and by ${second}; remove one of them, or bind an event handler to ` +
        'a transport other than RABBIT_TRANSPORT',
    );
  }
}
