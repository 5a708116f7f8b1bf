/**
 * Money for people, such as `€42.00`. The symbol tells CN¥ from JP¥.
 *
 * @param amount integer in minor units: the currency decides how many there are, so 500 JPY are ¥500
 */
export function formatMoney(amount: number, currency: string, locale: string): string {
  try {
    const format = new Intl.NumberFormat(locale, { style: 'currency', currency });
    const digits = format.resolvedOptions().maximumFractionDigits ?? 2;
    return format.format(decimalOf(amount, digits));
  } catch {
    return `${amount} ${currency}`;
  }
}

/** As text, because a fraction of a large amount does not fit into a number. */
function decimalOf(amount: number, digits: number): Intl.StringNumericLiteral {
  const sign = amount < 0 ? '-' : '';
  const figures = String(Math.abs(amount)).padStart(digits + 1, '0');
  const whole = figures.slice(0, figures.length - digits);
  const fraction = figures.slice(figures.length - digits);
  return `${sign}${whole}${digits === 0 ? '' : `.${fraction}`}` as Intl.StringNumericLiteral;
}
