import { createPublicKey, type KeyObject, sign } from 'node:crypto';

/** What a certificate says. */
interface CertificateTerms {
  /** Hexadecimal; the first digit below 8, as serials are positive. */
  readonly serial: string;
  readonly commonName: string;
  readonly validFrom: Date;
  readonly validTo: Date;
}

const [INTEGER, BIT_STRING, NULL, OID, UTF8, UTC_TIME, SEQUENCE, SET] = [2, 3, 5, 6, 12, 23, 48, 49] as const;
const SHA256_WITH_RSA = der(SEQUENCE, der(OID, Buffer.from('2a864886f70d01010b', 'hex')), der(NULL, Buffer.alloc(0)));
const COMMON_NAME = der(OID, Buffer.from('550403', 'hex'));

/** An X.509 certificate (PEM) of the key, signed by itself. Node reads certificates, but makes none. */
export function selfSignedCertificate(privateKey: KeyObject, terms: CertificateTerms): string {
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8, Buffer.from(terms.commonName)))));
  const content = der(
    SEQUENCE,
    der(INTEGER, Buffer.from(terms.serial, 'hex')),
    SHA256_WITH_RSA,
    name,
    der(SEQUENCE, time(terms.validFrom), time(terms.validTo)),
    name,
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
  );
  const signature = der(BIT_STRING, Buffer.alloc(1), sign('sha256', content, privateKey));
  const base64 = der(SEQUENCE, content, SHA256_WITH_RSA, signature).toString('base64');
  const lines = base64.match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

/** Tag, length and content, as DER writes everything. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const long = length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...(length < 128 ? [length] : long)]), content]);
}

/** `YYMMDDHHMMSSZ`, good until 2049. */
function time(at: Date): Buffer {
  return der(UTC_TIME, Buffer.from(`${at.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));
}
