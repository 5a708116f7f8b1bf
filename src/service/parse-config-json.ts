/** JSON of the configuration holds a name that no parser of ours could keep. */
export class ReservedNameError extends Error {
  constructor() {
    super('must not use "__proto__" as a name');
  }
}

/**
 * JSON whose objects have names chosen by people, such as merchants. The schemas drop `__proto__` without a word, so it
 * is refused here.
 *
 * @throws SyntaxError for what is no JSON; its message quotes the text.
 * @throws ReservedNameError
 */
export function parseConfigJson(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) => {
    if (name === '__proto__') throw new ReservedNameError();
    return value;
  });
}
