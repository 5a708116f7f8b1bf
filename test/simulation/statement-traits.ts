/** What is seen of a statement by its text alone. */
export interface Traits {
  readonly label: string;
  readonly isTimed: boolean;
  readonly isBeginning: boolean;
  /** What it is prepared as if it has no parameters; undefined: it cannot be prepared. */
  readonly name: string | undefined;
  /** Real milliseconds after which it may be waiting for a lock. */
  readonly suspiciousMs: number;
}

/** The first thing that is asked of a session. */
export const CONNECT = 'connect';

const BEGIN = /^(?:START TRANSACTION|BEGIN)\b/i;

/** What may read the time, also by a default or a trigger. */
const TIMED = /\b(?:now|clock_timestamp)\(|\b(?:INSERT|UPDATE|DELETE)\b/i;

/** A statement that has taken so long, real milliseconds, may be waiting for a lock. */
export const SUSPICIOUS_MS = 3;

/** One that locks nothing hardly ever waits. */
const UNLIKELY_MS = 50;

/** What may wait for others. */
const WAITS = /\b(?:INSERT|UPDATE|DELETE|LOCK|COMMIT|RELEASE)\b|\bFOR (?:NO KEY|KEY|SHARE)\b|advisory/;

/** One statement, which PostgreSQL need not parse and plan each time. */
const QUERY = /^\s*(?:SELECT|WITH)\b[^;]*$/;

/** More texts than the service has. */
const MAX_TEXTS = 5_000;

const known = new Map<string, Traits>();

let named = 0;

/** The service has long texts, and sends each of them often. */
export function traitsOf(text: string): Traits {
  const earlier = known.get(text);
  if (earlier) return earlier;
  const traits = {
    label: uncounted(text.slice(0, 400)).replace(/\s+/g, ' ').trim().slice(0, 110),
    isTimed: TIMED.test(text),
    isBeginning: BEGIN.test(text),
    name: QUERY.test(text) ? `simulated_${++named}` : undefined,
    suspiciousMs: WAITS.test(text) ? SUSPICIOUS_MS : UNLIKELY_MS,
  };
  if (known.size >= MAX_TEXTS) known.clear();
  known.set(text, traits);
  return traits;
}

/** Savepoints are counted from world to world. */
export function uncounted(text: string): string {
  return text.replace(/order_timeout_\d+/g, 'order_timeout_n');
}
