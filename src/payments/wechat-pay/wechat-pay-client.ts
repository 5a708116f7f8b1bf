import { Decorator } from 'wechatpay-axios-plugin';
import { type KeyObject, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { type Clock, retryAfterMs, withTimeout } from '../../clock';
import { messageOf, parseJson } from '../../errors';
import { MAX_RETRY_AFTER_MS, type UnknownOutcome, unknown } from '../payment-provider';
import {
  attempt,
  PlatformKeys,
  type SignedMessage,
  type Verification,
  verifyMessage,
  type WechatPayAnswer,
  openSealed,
  sealedSchema,
  type ResolvedWechatPayMerchant,
} from './wechat-pay-options';

type Http = Decorator['v3'];

export interface WechatPayCall {
  readonly method: 'GET' | 'POST';
  /** Starts with `/v3/`, percent-encoded. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readonly<Record<string, unknown>>;
}

/** WeChat Pay answers in less than a second, and ResilientProvider gives up earlier than this by default. */
const TIMEOUT_MS = 8_000;

/** A list of platform certificates has about 10 kB. All other answers are shorter. */
const MAX_BODY_BYTES = 262_144;

/** Calls WeChat Pay for one merchant. The SDK signs and sends. Answers are verified here; see `send`. */
export class WechatPayClient {
  private readonly http: Http;
  private readonly certificates: CertificateDownload | undefined;

  constructor(
    private readonly merchant: ResolvedWechatPayMerchant,
    baseUrl: string,
    private readonly clock: Clock,
  ) {
    const { mchid, serialNo: serial } = merchant;
    const privateKey = merchant.privateKey.export({ type: 'pkcs8', format: 'pem' });
    // The SDK requires a certificate to verify with. It is never used; see `send`.
    this.http = new Decorator({ mchid, serial, privateKey, certs: { unused: '' }, baseURL: baseUrl }).v3;
    if (!merchant.downloadPlatformCertificates) return;
    const list = { method: 'GET', path: '/v3/certificates' } as const;
    this.certificates = new CertificateDownload(merchant, () => this.send(list), clock);
  }

  /** Never throws. Server errors, time-outs, and aborts are UNKNOWN. All other answers are returned. */
  async call(call: WechatPayCall, signal: AbortSignal): Promise<WechatPayAnswer | UnknownOutcome> {
    try {
      signal.throwIfAborted();
      const response = await this.send(call, signal);
      const wait = retryAfterMs(response.header('retry-after'), this.clock.now(), MAX_RETRY_AFTER_MS);
      if (response.status >= 500) return failed(response.status, wait);
      return toAnswer(response, await this.verify(response, signal), wait);
    } catch (error) {
      if (signal.aborted) return unknown('gave up waiting for the answer');
      // Only the message: an axios error contains the request's configuration, which includes the private key.
      return unknown(`no answer: ${messageOf(error)}`, { outage: true });
    }
  }

  /** If the answer names an unknown platform certificate, downloads the certificates and verifies once more. */
  private async verify(message: SignedMessage, signal: AbortSignal): Promise<Verification> {
    const verification = verifyMessage(message, this.merchant.platformKeys, this.clock.now());
    if (verification.type === 'VERIFIED' || verification.unknownSerial === undefined) return verification;
    if (!this.certificates || !PlatformKeys.isCertificate(verification.unknownSerial)) return verification;
    await withTimeout(this.clock, TIMEOUT_MS, this.certificates.refresh(), undefined, signal);
    signal.throwIfAborted();
    return verifyMessage(message, this.merchant.platformKeys, this.clock.now());
  }

  /**
   * Returns the unverified answer. The SDK's own check is switched off (`transformResponse`): it skips every status
   * except 2xx, so "no such order" could be forged, and its keys cannot change while it runs.
   */
  private async send(call: WechatPayCall, signal?: AbortSignal): Promise<Response> {
    const { publicKeyId } = this.merchant.platformKeys;
    const response = await this.http.request<Buffer>({
      method: call.method,
      url: call.path,
      ...(call.query && { params: call.query }),
      ...(call.body && { data: call.body }),
      ...(signal && { signal }),
      ...(publicKeyId !== undefined && { headers: { 'Wechatpay-Serial': publicKeyId } }),
      timeout: TIMEOUT_MS,
      maxContentLength: MAX_BODY_BYTES,
      // The answer must come from the configured address.
      maxRedirects: 0,
      validateStatus: () => true,
      responseType: 'arraybuffer',
      transformResponse: [(data: unknown) => data],
    });
    const { headers } = response;
    return {
      status: response.status,
      rawBody: Buffer.from(response.data ?? ''),
      header: (name) => (typeof headers[name] === 'string' ? headers[name] : undefined),
    };
  }
}

type Response = SignedMessage & { readonly status: number };

function toAnswer(response: Response, verification: Verification, wait: number | undefined): WechatPayAnswer {
  const body = parseJson(response.rawBody);
  const { code, message } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  return {
    type: 'ANSWER',
    status: response.status,
    body,
    code: typeof code === 'string' ? code.replaceAll('_', '').toUpperCase().slice(0, 64) : undefined,
    message: typeof message === 'string' ? message.slice(0, 256) : undefined,
    verification,
    retryAfterMs: wait,
    requestId: response.header('request-id'),
  };
}

function failed(status: number, wait: number | undefined): UnknownOutcome {
  return unknown(`WeChat Pay failed with status ${status}`, { outage: true, retryAfterMs: wait });
}

/** Anyone can send a header with an unknown serial, so that must not cause a stream of requests. */
const MIN_INTERVAL_MS = 60_000;

const listSchema = z.object({
  data: z.array(z.object({ serial_no: z.string(), encrypt_certificate: sealedSchema })).max(100),
});

/** Downloads the platform certificates of one merchant while the process runs. */
class CertificateDownload {
  private lastAt = -Infinity;
  private running: Promise<void> | undefined;

  /** @param fetchList requests `/v3/certificates`; the answer need not be verified. */
  constructor(
    private readonly merchant: { readonly platformKeys: PlatformKeys; readonly apiV3Key: KeyObject },
    private readonly fetchList: () => Promise<SignedMessage>,
    private readonly clock: Clock,
  ) {}

  /** Adds the listed certificates to the merchant's keys, at most once a minute. Never rejects. */
  refresh(): Promise<void> {
    if (this.running) return this.running;
    if (this.clock.monotonic() - this.lastAt < MIN_INTERVAL_MS) return Promise.resolve();
    this.lastAt = this.clock.monotonic();
    this.running = this.download().finally(() => (this.running = undefined));
    return this.running;
  }

  private async download(): Promise<void> {
    // Without a list nothing changes: the answer that needed it stays UNVERIFIED.
    const list = await this.fetchList().catch(() => undefined);
    if (!list) return;
    const fresh = this.open(list.rawBody);
    // The list may be signed with a key that it contains. The APIv3 key proves that WeChat Pay wrote it.
    const verified = [new PlatformKeys(fresh), this.merchant.platformKeys].some(
      (keys) => verifyMessage(list, keys, this.clock.now()).type === 'VERIFIED',
    );
    if (!verified) return;
    for (const [serial, key] of fresh) this.merchant.platformKeys.add(serial, key);
  }

  private open(rawBody: Buffer): [string, KeyObject][] {
    const entries = listSchema.safeParse(parseJson(rawBody)).data?.data ?? [];
    return entries.flatMap(({ serial_no: serial, encrypt_certificate: sealed }) => {
      const certificate = attempt(() => new X509Certificate(openSealed(sealed, this.merchant.apiV3Key) ?? ''));
      if (certificate?.serialNumber.toUpperCase() !== serial.toUpperCase()) return [];
      if (Date.parse(certificate.validTo) <= this.clock.now()) return [];
      return certificate.publicKey.asymmetricKeyType === 'rsa' ? [[serial, certificate.publicKey]] : [];
    });
  }
}
