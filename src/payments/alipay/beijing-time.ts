/** Alipay uses China's time zone for all times. China has had no daylight saving time since 1991. */
const OFFSET_MS = 8 * 3_600_000;
const SHAPE = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/;

/** Epoch milliseconds as `yyyy-MM-dd HH:mm:ss` in Beijing time. The time zone of the process does not matter. */
export function toBeijingTime(epochMs: number): string {
  return new Date(epochMs + OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Parses `yyyy-MM-dd HH:mm:ss` in Beijing time. Undefined for anything else, including February 30. */
export function fromBeijingTime(text: string | undefined): Date | undefined {
  const [, day, time] = SHAPE.exec(text ?? '') ?? [];
  if (day === undefined || time === undefined) return undefined;
  const instant = new Date(`${day}T${time}+08:00`);
  // Date reads February 30 as March 2, so the result must format back to the same text.
  return !Number.isNaN(instant.getTime()) && toBeijingTime(instant.getTime()) === text ? instant : undefined;
}
