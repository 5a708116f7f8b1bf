/**
 * Returns the date itself. Every comparison with an invalid date is false, which would read as "the deadline has
 * passed".
 */
export function validInstant(date: Date): Date {
  if (Number.isNaN(date.getTime())) throw new Error('invalid date where an instant was expected');
  return date;
}
