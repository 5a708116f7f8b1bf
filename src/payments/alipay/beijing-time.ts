/** Alipay reads and writes every time of day in China's one time zone, which has had no summer time since 1991. */
const OFFSET_MS = 8 * 3_600_000;
const SHAPE = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/;

/** Epoch milliseconds as `yyyy-MM-dd HH:mm:ss` in Beijing time, whatever the time zone of the process is. */
export function toBeijingTime(epochMs: number): string {
  return new Date(epochMs + OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** The instant of a `yyyy-MM-dd HH:mm:ss` in Beijing time; undefined for anything else, 30 February included. */
export function fromBeijingTime(text: string | undefined): Date | undefined {
  const [, day, time] = SHAPE.exec(text ?? '') ?? [];
  if (day === undefined || time === undefined) return undefined;
  const instant = new Date(`${day}T${time}+08:00`);
  // Date takes 30 February for 2 March; only what reads back the same was a real time.
  return !Number.isNaN(instant.getTime()) && toBeijingTime(instant.getTime()) === text ? instant : undefined;
}
