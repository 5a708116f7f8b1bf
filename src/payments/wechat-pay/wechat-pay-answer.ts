import { type Verification } from './verify-message';

/** What came back, whether it is to be believed or not. Server errors do not get this far. */
export interface WechatPayAnswer {
  readonly type: 'ANSWER';
  readonly status: number;
  /** JSON, or undefined. */
  readonly body: unknown;
  /** Of an error, in upper case and without `_`: WeChat Pay's own pages spell the codes in two ways. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly verification: Verification;
  readonly retryAfterMs: number | undefined;
  /** WeChat Pay's number of the exchange, for its support. */
  readonly requestId: string | undefined;
}
