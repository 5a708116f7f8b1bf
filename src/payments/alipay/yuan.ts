/** At most 15 digits before the point: Alipay's amounts have 9, and more is not an amount. */
const SHAPE = /^(0|[1-9]\d{0,14})(?:\.(\d{1,2}))?$/;

/** Fen of an amount in yuan as Alipay writes it, `88.88`; undefined for anything but plain digits with 0 to 2 decimals. */
export function fromYuan(text: string | undefined): bigint | undefined {
  const [, whole, fraction = ''] = SHAPE.exec(text ?? '') ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(2, '0'));
}

/** Fen, not negative, as yuan with two decimals. */
export function toYuan(fen: bigint): string {
  const digits = fen.toString().padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
