import { type Provider } from '@nestjs/common';

type Token<T> = abstract new (...args: never[]) => T;

/** A provider whose constructor takes the instances of these classes, in order. */
export function construct<P extends readonly unknown[]>(
  type: new (...parts: [...P]) => unknown,
  ...tokens: { [I in keyof P]: Token<P[I]> }
): Provider {
  return { provide: type, inject: [...tokens], useFactory: (...parts: [...P]) => new type(...parts) };
}

/** A provider whose constructor takes one object: for each property, the instance of the class that is named. */
export function constructWith<D extends object>(
  type: new (deps: D) => unknown,
  tokens: { readonly [K in keyof D]: Token<D[K]> },
): Provider {
  const names = Object.keys(tokens);
  return {
    provide: type,
    inject: Object.values<Token<unknown>>(tokens),
    useFactory: (...parts: unknown[]) => new type(Object.fromEntries(names.map((name, i) => [name, parts[i]])) as D),
  };
}
