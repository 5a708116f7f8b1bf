/** At most 15 digits before the decimal point. Alipay's amounts have at most 9. */
const SHAPE = /^(0|[1-9]\d{0,14})(?:\.(\d{1,2}))?$/;

/** Parses yuan such as `88.88` to fen. Undefined for anything but digits with 0 to 2 decimals. */
export function fromYuan(text: string | undefined): bigint | undefined {
  const [, whole, fraction = ''] = SHAPE.exec(text ?? '') ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(2, '0'));
}

/** Formats non-negative fen as yuan with two decimals. */
export function toYuan(fen: bigint): string {
  const digits = fen.toString().padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
