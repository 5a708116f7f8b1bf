/**
 * A sentence for each option that nobody reads, with those that are read.
 *
 * @param at what stands before the name, e.g. `rabbit.`
 */
export function findUnknownOptions(given: unknown, known: readonly string[], at = ''): string[] {
  if (typeof given !== 'object' || given === null) return [];
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const unknown = names.filter((name) => !known.includes(name));
  return unknown.map((name) => `unknown option "${at}${name}"; the options are ${known.join(', ')}`);
}
