import { findUnknownOptions, InvalidOptionsError } from '../errors';
import { EXTRAS, ORDER_TIMEOUT_OPTION_NAMES } from './order-timeout-options';

/** Options of Nest's ConfigurableModuleAsyncOptions. */
const OF_NEST = ['imports', 'inject', 'useFactory', 'useClass', 'useExisting', 'provideInjectionTokensFrom'];

/** @throws InvalidOptionsError for options that forRootAsync does not read. */
export function assertBesideFactory(given: object): void {
  const names = Object.keys(given);
  const misplaced = names.filter((name) => ORDER_TIMEOUT_OPTION_NAMES.includes(name));
  const known = [...EXTRAS, ...OF_NEST];
  const others = Object.fromEntries(Object.entries(given).filter(([name]) => !misplaced.includes(name)));
  const problems = [
    ...misplaced.map((name) => `"${name}" must be returned by useFactory, not given beside it`),
    ...findUnknownOptions(others, known),
  ];
  if (problems.length > 0) throw new InvalidOptionsError('OrderTimeoutModule.forRootAsync', problems);
}
