import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { InvalidOptionsError } from './errors';

/** @throws InvalidOptionsError if a factory did not return the options. */
export function assertOptionsObject(subject: string, given: unknown): asserts given is object {
  if (typeof given === 'object' && given !== null) return;
  throw new InvalidOptionsError(subject, [
    `the options must be an object (got ${String(given)}); does useFactory return them?`,
  ]);
}

/** An object with these options and no others. */
export function optionsOf<S extends z.ZodRawShape>(shape: S): z.ZodObject<S, z.core.$strict> {
  const names = Object.keys(shape).join(', ');
  const error = ({ code }: { readonly code: string }): string =>
    code === 'unrecognized_keys' ? `the options are ${names}` : 'must be an object';
  return z.strictObject(shape, { error });
}

/** An integer within the range, both ends included. @param unit after the numbers, with a space in front */
export function integer(min: number, max: number, unit = ''): z.ZodType<number, number> {
  const isGood = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
  const wanted = `must be an integer from ${min} to ${max}${unit}`;
  return z.custom<number>(isGood, { error: ({ input }) => `${wanted} (got ${shown(input)})`, abort: false });
}

/** An object whose names people choose. zod's records drop `__proto__` silently, and refuse instances of classes. */
export function recordOf<S extends z.ZodType>(part: S): z.ZodType<Record<string, z.output<S>>> {
  return z
    .custom((given) => !Object.hasOwn(given ?? {}, '__proto__'), 'must not use "__proto__" as a name')
    .transform((given) => (isObject(given) ? withoutUndefined(given) : null))
    .pipe(z.record(z.string(), part, 'must be an object'));
}

/** An instance of a class whose names are not its own, such as getters, would count as empty. */
function isObject(given: unknown): given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return false;
  return isPlain(given) || Object.keys(given).length > 0;
}

function isPlain(given: object): boolean {
  return [Object.prototype, null].includes(Object.getPrototypeOf(given) as object | null);
}

export function oneOf<const T extends string>(words: readonly T[]): z.ZodType<T, T> {
  return z.enum(words, { error: ({ input }) => `must be one of ${words.join(', ')} (got ${shown(input)})` });
}

/** A symbol stands for what has no options. */
function shown(input: unknown): string {
  return typeof input === 'symbol' ? `a ${input.description ?? ''}` : String(input);
}

/**
 * Reads options, in which undefined means not given.
 *
 * @returns what the schema makes of them, or every problem, one sentence each.
 * @param beside names that belong next to useFactory, because they decide what the module consists of
 * @param nameOf what the sentences call an option
 */
export function readOptions<S extends z.ZodType>(
  schema: S,
  given: unknown,
  beside: readonly string[] = [],
  nameOf = (path: readonly string[]): string => path.join('.'),
): { readonly data: z.output<S> | undefined; readonly problems: readonly string[] } {
  const { data, error } = schema.safeParse(withoutUndefinedWithin(given));
  const problems = (error?.issues ?? []).flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code !== 'unrecognized_keys') return [`${nameOf(path) || 'the options'} ${issue.message}`];
    return issue.keys.map((key) =>
      path.length === 0 && beside.includes(key)
        ? `"${key}" decides what the module consists of: put it next to useFactory, not into the options that useFactory returns`
        : `unknown option "${nameOf([...path, key])}"; ${issue.message}`,
    );
  });
  return { data, problems };
}

/** @throws InvalidOptionsError with every problem. */
export function parseOptions<S extends z.ZodType>(subject: string, schema: S, given: unknown): z.output<S> {
  const { data, problems } = readOptions(schema, given);
  if (problems.length > 0) throw new InvalidOptionsError(subject, problems);
  return data as z.output<S>;
}

const NO_OPTIONS = ['Promise', 'Map', 'Set', 'WeakMap', 'WeakSet', 'Date', 'RegExp', 'URLSearchParams'];

/** Keeps what is not plain data as it is: lists, instances of classes, and a host's own objects with methods. */
function withoutUndefinedWithin(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  // A schema takes a Promise, a Map, or a Date for an object without options. It takes a symbol for nothing.
  if (NO_OPTIONS.includes(kind)) return Symbol(kind);
  if (!isPlain(value)) return value;
  const given = Object.entries(withoutUndefined(value));
  if (given.some(([, part]) => typeof part === 'function')) return value;
  return Object.fromEntries(given.map(([name, part]) => [name, withoutUndefinedWithin(part)]));
}

/**
 * Returns the value, which only a bug could have left out. In code for money and stock, a missing value must never
 * become a default that decides something.
 *
 * @param what names the value in the error.
 */
export function present<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`${what} is missing`);
  return value;
}

/** The own property `key`, for keys from outside: a plain object also answers to `constructor` and `__proto__`. */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Every comparison with an invalid date is false, which would read as "the deadline has passed". */
export function validInstant(date: Date): Date {
  if (Number.isNaN(date.getTime())) throw new Error('invalid date where an instant was expected');
  return date;
}

/** Returns the options without those that are undefined, which would hide their defaults. */
export function withoutUndefined<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [K in keyof T]: Exclude<T[K], undefined> };
}

/** Undefined: the text is not JSON. */
export function parseJson(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    return undefined;
  }
}

/** Makes a switch exhaustive: a missing case does not compile, and an impossible value throws. */
export function assertNever(value: never): never {
  throw new Error(`Unreachable: unexpected value ${JSON.stringify(value)}`);
}

/** The version of this package. It is as far from package.json in `src` as in `dist`. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8'));
  return (manifest as { version: string }).version;
}
