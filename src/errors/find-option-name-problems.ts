import { findUnknownOptions } from './find-unknown-options';

/**
 * Finds problems with the names of the options that a module was given, whatever their values are.
 *
 * @param beside names that belong next to useFactory, because they decide what the module consists of
 */
export function findOptionNameProblems(given: object, known: readonly string[], beside: readonly string[]): string[] {
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const misplaced = names.filter((name) => beside.includes(name));
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !beside.includes(name)));
  return [
    ...misplaced.map(
      (name) =>
        `"${name}" decides what the module consists of: put it next to useFactory, not into the options that useFactory returns`,
    ),
    ...findUnknownOptions(others, known),
  ];
}
