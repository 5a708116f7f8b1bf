/** JSON in the configuration has a name that the schemas would drop. */
export class ReservedNameError extends Error {
  constructor() {
    super('must not use "__proto__" as a name');
  }
}

/**
 * Parses JSON whose objects have names that people choose, such as merchants. The schemas silently drop `__proto__`, so
 * it is rejected here.
 *
 * @throws SyntaxError if the text is not JSON; its message quotes the text.
 * @throws ReservedNameError
 */
export function parseConfigJson(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) => {
    if (name === '__proto__') throw new ReservedNameError();
    return value;
  });
}
