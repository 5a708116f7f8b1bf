/** The number that an option gives. @throws Error with a sentence for the caller. */
export function wholeNumber(name: string, text: string | undefined, otherwise: number, max: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new Error(`${name} must be an integer from 1 to ${max} (got ${text})`);
}
