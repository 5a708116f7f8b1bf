/** The service counts no further: more than this is reported as this. */
export const COUNT_CAP = 10_001;
/** The same for what is due in one minute. */
export const MINUTE_CAP = 2_001;

/** For example `1,234`, or `10,000+` where the service stopped counting. */
export function formatCount(count: number, locale: string, cap = COUNT_CAP): string {
  return count === cap ? formatAtLeast(cap - 1, locale) : new Intl.NumberFormat(locale).format(count);
}

/** For example `10,000+`. */
export function formatAtLeast(count: number, locale: string): string {
  return `${new Intl.NumberFormat(locale).format(count)}+`;
}
