import { CodedError } from '../../errors';
import { type ParkReason } from '../../rabbit';

/** A command that must not be delivered again. Its message is parked with this reason. */
export class CommandRejectedError extends CodedError {
  constructor(
    readonly park: ParkReason,
    cause: unknown,
  ) {
    super(park.code, park.reason, { cause });
  }
}
