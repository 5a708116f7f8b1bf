import { CodedError } from '../../errors';

/** An answer of the gateway is not signed as it should be. Becomes an UNKNOWN outcome; never leaves this directory. */
export class UntrustedAnswerError extends CodedError {
  constructor(why: string) {
    super('ALIPAY_ANSWER_UNTRUSTED', why);
  }
}
