/** The service counts no further: more than this is reported as this. */
export const COUNT_CAP = 10_001;

/** For example `1,234`, or `10,000+` where the service stopped counting. */
export function formatCount(count: number, locale: string): string {
  const format = new Intl.NumberFormat(locale);
  return count === COUNT_CAP ? `${format.format(COUNT_CAP - 1)}+` : format.format(count);
}
