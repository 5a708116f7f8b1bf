import { CodedError } from '../../errors';

/** An answer of the gateway has no valid signature. Becomes an UNKNOWN outcome and never leaves this folder. */
export class UntrustedAnswerError extends CodedError {
  constructor(why: string) {
    super('ALIPAY_ANSWER_UNTRUSTED', why);
  }
}
