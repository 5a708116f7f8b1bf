import { InvalidOptionsError } from './invalid-options-error';

/** @throws InvalidOptionsError if a factory did not return the options. */
export function assertOptionsObject(subject: string, given: unknown): asserts given is object {
  if (typeof given === 'object' && given !== null) return;
  throw new InvalidOptionsError(subject, [
    `the options must be an object (got ${String(given)}); does useFactory return them?`,
  ]);
}
