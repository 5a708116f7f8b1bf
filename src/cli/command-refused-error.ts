import { CodedError } from '../errors';

/** A command would do harm, or lacks something. Nothing was changed. */
export class CommandRefusedError extends CodedError {
  constructor(sentence: string) {
    super('COMMAND_REFUSED', sentence);
  }
}
