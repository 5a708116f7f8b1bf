/** Beijing is 8 hours ahead of UTC all year. */
const BEIJING_OFFSET_MS = 8 * 3_600_000;

/** Epoch milliseconds, or an ISO string, as Alipay writes an instant: Beijing time, to the second. */
export function alipayTime(instant: number | string): string {
  const shifted = new Date(new Date(instant).getTime() + BEIJING_OFFSET_MS).toISOString();
  return `${shifted.slice(0, 10)} ${shifted.slice(11, 19)}`;
}

/** Epoch milliseconds of what Alipay wrote; NaN for anything else. */
export function readAlipayTime(text: string): number {
  return /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(text) ? Date.parse(`${text.replace(' ', 'T')}+08:00`) : NaN;
}

/** Minor units as an amount in yuan. */
export function yuan(fen: bigint | string): string {
  const amount = BigInt(fen);
  return `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`;
}

/** Minor units of an amount in yuan with up to two decimals; undefined for anything else. */
export function readYuan(text: string): bigint | undefined {
  const [, whole, decimals = ''] = /^(\d{1,9})(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole) * 100n + BigInt(decimals.padEnd(2, '0'));
}
