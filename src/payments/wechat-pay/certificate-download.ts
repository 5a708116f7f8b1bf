import { type KeyObject, X509Certificate } from 'node:crypto';
import { z } from 'zod';
import { type Clock } from '../../clock';
import { openSealed, sealedSchema } from './open-sealed';
import { parseJson } from './parse-json';
import { PlatformKeys } from './platform-keys';
import { type SignedMessage, verifyMessage } from './verify-message';

/** Anyone can send a header with an unknown serial, so that must not cause a stream of requests. */
const MIN_INTERVAL_MS = 60_000;

const listSchema = z.object({
  data: z.array(z.object({ serial_no: z.string(), encrypt_certificate: sealedSchema })).max(100),
});

/** Downloads the platform certificates of one merchant while the process runs. */
export class CertificateDownload {
  private lastAt = -Infinity;
  private running: Promise<void> | undefined;

  /** @param fetchList requests `/v3/certificates`; the answer need not be verified. */
  constructor(
    private readonly merchant: { readonly platformKeys: PlatformKeys; readonly apiV3Key: KeyObject },
    private readonly fetchList: () => Promise<SignedMessage>,
    private readonly clock: Clock,
  ) {}

  /**
   * Adds the listed certificates to the merchant's keys. Does nothing within a minute of the last time. Never rejects.
   */
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
      const certificate = readCertificate(openSealed(sealed, this.merchant.apiV3Key));
      if (certificate?.serialNumber.toUpperCase() !== serial.toUpperCase()) return [];
      if (Date.parse(certificate.validTo) <= this.clock.now()) return [];
      return certificate.publicKey.asymmetricKeyType === 'rsa' ? [[serial, certificate.publicKey]] : [];
    });
  }
}

function readCertificate(pem: string | undefined): X509Certificate | undefined {
  try {
    return pem === undefined ? undefined : new X509Certificate(pem);
  } catch {
    return undefined;
  }
}
