/**
 * Returns a sentence for each unknown option, with the list of known ones.
 *
 * @param at prefix of the name, for example `rabbit.`
 */
export function findUnknownOptions(given: unknown, known: readonly string[], at = ''): string[] {
  if (typeof given !== 'object' || given === null) return [];
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const unknown = names.filter((name) => !known.includes(name));
  return unknown.map((name) => `unknown option "${at}${name}"; the options are ${known.join(', ')}`);
}
