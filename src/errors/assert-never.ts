/** Makes a switch exhaustive: a forgotten case does not compile, an impossible value throws. */
export function assertNever(value: never): never {
  throw new Error(`Unreachable: unexpected value ${JSON.stringify(value)}`);
}
