import { type KeyObject } from 'node:crypto';

/** Prefix of the ids of WeChat Pay's public keys. Other serials are those of platform certificates. */
const PUBLIC_KEY_ID = /^PUB_KEY_ID_/;

/**
 * The keys that WeChat Pay signs with for one merchant, by serial. There are several while certificates are renewed or
 * replaced by a public key: WeChat Pay then picks one at random for each notification.
 */
export class PlatformKeys {
  private readonly bySerial = new Map<string, KeyObject>();

  constructor(keys: Iterable<readonly [serial: string, key: KeyObject]>) {
    for (const [serial, key] of keys) this.add(serial, key);
  }

  add(serial: string, key: KeyObject): void {
    // OpenSSL prints serials in lower or upper case. WeChat Pay sends upper case.
    this.bySerial.set(serial.toUpperCase(), key);
  }

  find(serial: string): KeyObject | undefined {
    return this.bySerial.get(serial.toUpperCase());
  }

  /** Whether the serial belongs to a certificate. Certificates can be downloaded, public keys cannot. */
  static isCertificate(serial: string): boolean {
    return /^[0-9a-f]{8,64}$/i.test(serial);
  }

  /**
   * Id of the configured public key. Every request names it as Wechatpay-Serial: during the change to public keys,
   * WeChat Pay otherwise signs its answer with the platform certificate.
   */
  get publicKeyId(): string | undefined {
    return [...this.bySerial.keys()].find((serial) => PUBLIC_KEY_ID.test(serial));
  }
}
