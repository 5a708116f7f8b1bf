import { CodedError } from '../../errors';

/** The host's own tables would be created among ours, where its next `synchronize` would change or drop them. */
export class SharedSchemaError extends CodedError {
  constructor(
    readonly schema: string,
    sentence: string,
  ) {
    super('SHARED_SCHEMA', sentence);
  }
}
