/**
 * Writes `value` in the given base, least significant digit first, in exactly `width` digits.
 * `value` must be an integer, 0 … base^width − 1.
 */
export function toDigits(value: number, base: number, width: number): number[] {
  const digits: number[] = [];
  let rest = value;
  for (let position = 0; position < width; position++) {
    digits.push(rest % base);
    rest = Math.floor(rest / base);
  }
  return digits;
}

/** @internal For tests: the number that `toDigits` wrote. */
export function fromDigits(digits: readonly number[], base: number): number {
  return digits.reduceRight((value, digit) => value * base + digit, 0);
}

/** How many digits `value` takes in the given base; at least one. */
export function countDigits(value: number, base: number): number {
  let count = 1;
  for (let rest = Math.floor(value / base); rest > 0; rest = Math.floor(rest / base)) count++;
  return count;
}
