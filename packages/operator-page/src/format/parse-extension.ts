const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Reads what an operator types to move a deadline, such as `30`, `30 min`, `2h`, `-15m`. A number alone is minutes.
 *
 * @returns milliseconds; undefined if it is none of these, or nothing
 */
export function parseExtension(text: string): number | undefined {
  const match = /^([+-]?\d{1,6}(?:\.\d{1,3})?)\s*(s|m|min|h|d)?$/i.exec(text.trim());
  if (!match) return undefined;
  const ms = Math.round(Number(match[1]) * (UNITS[(match[2] ?? 'm').toLowerCase()] ?? 0));
  return ms === 0 ? undefined : ms;
}
