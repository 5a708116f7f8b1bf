import { CodedError } from '../errors';

/** The session is read-only. Its pool must not hand it out again. */
export class ReadOnlySessionError extends CodedError {
  constructor() {
    super(
      'DATABASE_READ_ONLY',
      'the server takes no writes; if it has become a standby, name all servers in the URL with target_session_attrs=read-write',
    );
  }
}
