const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number, number])[] = [
  ['second', SECOND, MINUTE],
  ['minute', MINUTE, HOUR],
  ['hour', HOUR, DAY],
  ['day', DAY, Number.POSITIVE_INFINITY],
];

/** For example `in 5 minutes` or `3 hr. ago`. */
export function formatRelative(atMs: number, nowMs: number, locale: string): string {
  const difference = atMs - nowMs;
  const [unit, size] = STEPS.find(([, , below]) => Math.abs(difference) < below) ?? ['day', DAY];
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
  return format.format(Math.trunc(difference / size), unit);
}

/** Date and time to the second, in the time zone of the computer. */
export function formatInstant(atMs: number, locale: string): string {
  return new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' }).format(atMs);
}

/** The time alone if it is today's. */
export function formatShort(atMs: number, nowMs: number, locale: string): string {
  const isToday = new Date(atMs).toDateString() === new Date(nowMs).toDateString();
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
  const date = isToday ? {} : ({ month: 'short', day: 'numeric' } as const);
  return new Intl.DateTimeFormat(locale, { ...date, ...time }).format(atMs);
}

/** A countdown such as `04:59`, `1:04:59`, or `2 d 01:04:59`; never negative. */
export function formatCountdown(leftMs: number): string {
  const seconds = Math.max(0, Math.ceil(leftMs / SECOND));
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3_600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  const two = (value: number): string => String(value).padStart(2, '0');
  const clock = `${two(minutes)}:${two(seconds % 60)}`;
  if (days > 0) return `${days} d ${two(hours)}:${clock}`;
  return hours > 0 ? `${hours}:${clock}` : clock;
}

const DURATIONS = [
  { below: SECOND, size: 1, unit: 'millisecond', digits: 0 },
  { below: MINUTE, size: SECOND, unit: 'second', digits: 1 },
  { below: HOUR, size: MINUTE, unit: 'minute', digits: 0 },
  { below: Number.POSITIVE_INFINITY, size: HOUR, unit: 'hour', digits: 1 },
] as const;

/** A measured time such as `85 ms`, `1.2 sec`, `3 min`. */
export function formatDuration(ms: number, locale: string): string {
  const { size, unit, digits } = DURATIONS.find(({ below }) => ms < below) ?? DURATIONS[3];
  return new Intl.NumberFormat(locale, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: digits,
  }).format(ms / size);
}
