/** Makes a switch exhaustive: a missing case does not compile, and an impossible value throws. */
export function assertNever(value: never): never {
  throw new Error(`Unreachable: unexpected value ${JSON.stringify(value)}`);
}
