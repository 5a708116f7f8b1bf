/** Wake-ups are handed over four times a second, all of that time at once. */
const BEATS_A_SECOND = 4;
/** What is due sooner does not wait for the beat: the relay may find it 0.75 s late (a beat, and its poll of 0.5 s). */
const SOON = '3 seconds';

/**
 * SQL of the time at which the relay takes what is due at `dueAt` (null: at once), `horizonMs` ahead at most. Wake-ups that
 * come to a delay queue together leave it together: the broker then logs one command for all of them and not one for each
 * (500 orders/s by the ladder, both cores full: p99 98 ms late, and 266 or more without).
 *
 * @param horizonMs SQL, too: a parameter or a number.
 */
export function handOverAt(dueAt: string, horizonMs: string): string {
  const earliest = `GREATEST(now(), ${dueAt} - ${horizonMs} * interval '1 millisecond')`;
  const beat = `to_timestamp(ceil(extract(epoch FROM ${earliest})::float8 * ${BEATS_A_SECOND}) / ${BEATS_A_SECOND})`;
  return `CASE WHEN ${dueAt} >= now() + interval '${SOON}' THEN ${beat} ELSE now() END`;
}
