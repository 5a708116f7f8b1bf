const MEGABYTE = 1_000_000;

/** A number as text, in the unit that a dashboard names. */
export function formatValue(value: number, unit = ''): string {
  const rounded = String(Number(value.toPrecision(3)));
  if (unit === 's') return value > 0 && value < 1 ? `${Number((value * 1_000).toPrecision(3))} ms` : `${rounded} s`;
  if (unit === 'ops') return `${rounded}/s`;
  if (unit === 'percentunit') return `${Number((value * 100).toPrecision(3))} %`;
  if (unit === 'bytes') return `${Math.round(value / MEGABYTE)} MB`;
  return rounded;
}
