import { type Verification } from './verify-message';

/** An answer, verified or not. Server errors are mapped before. */
export interface WechatPayAnswer {
  readonly type: 'ANSWER';
  readonly status: number;
  /** JSON, or undefined. */
  readonly body: unknown;
  /** Error code in upper case and without `_`, because WeChat Pay's documentation spells the codes in two ways. */
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly verification: Verification;
  readonly retryAfterMs: number | undefined;
  /** WeChat Pay's request id, for its support. */
  readonly requestId: string | undefined;
}
