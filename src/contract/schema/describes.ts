import { type z } from 'zod';
import { type Json } from './json';

/** T with every member required, so that a missing optional member is a difference. */
type Full<T> = T extends readonly (infer Entry)[]
  ? Full<Entry>[]
  : T extends object
    ? { [Key in keyof T]-?: Full<T[Key]> }
    : T;

type Within<A, B> = [A] extends [B] ? true : false;

type Differences<A, B> = [Within<A, B>, Within<B, A>, Within<Full<A>, Full<B>>, Within<Full<B>, Full<A>>];

type IsSame<A, B> = Differences<A, B> extends [true, true, true, true] ? unknown : 'the schema differs from the type';

/**
 * Returns the schema, and does not compile unless it describes T as JSON carries it: an answer with another member, or
 * without one, needs another schema.
 */
export function describes<T>() {
  return <S extends z.ZodType>(schema: S & IsSame<z.output<S>, Json<T>>): S => schema;
}
