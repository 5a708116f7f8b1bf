const OFFSET_MS = 8 * 3_600_000;

/** RFC 3339 in whole seconds of Beijing's time, as WeChat Pay writes instants. */
export function beijingTime(instant: string | number): string {
  return `${new Date(new Date(instant).getTime() + OFFSET_MS).toISOString().slice(0, 19)}+08:00`;
}
