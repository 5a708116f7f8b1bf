import { findUnknownOptions } from './find-unknown-options';

/**
 * What is wrong with the names of the options that a module was given, whatever their values are.
 *
 * @param beside names that stand beside useFactory, as they decide what the module consists of
 */
export function findStrayOptions(given: object, known: readonly string[], beside: readonly string[]): string[] {
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const misplaced = names.filter((name) => beside.includes(name));
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !beside.includes(name)));
  return [
    ...misplaced.map(
      (name) =>
        `"${name}" decides what the module consists of: put it beside useFactory, not into what useFactory returns`,
    ),
    ...findUnknownOptions(others, known),
  ];
}
