import { CodedError } from '../../errors';

/** The test kit was used in a way that cannot work. The message says what to do instead. */
export class TestKitUsageError extends CodedError {
  constructor(sentence: string) {
    super('TEST_KIT_USAGE', sentence);
  }
}
