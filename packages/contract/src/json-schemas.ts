import { z } from 'zod';

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The dialect of OpenAPI 3.1, and the one of AsyncAPI 3. */
type Dialect = 'draft-2020-12' | 'draft-07';

type Named = Readonly<Record<string, z.ZodType>>;

/**
 * Pure: the JSON Schema of each named schema, as callers send it. Where one contains another, it refers to it.
 *
 * @param named schemas by the name that they have in the document.
 * @param at where the document keeps them, such as `#/components/schemas/`.
 */
export function jsonSchemas(named: Named, at: string, dialect: Dialect): Readonly<Record<string, JsonSchema>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(named)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { ...options(dialect), uri: (id) => `${at}${id}` });
  return Object.fromEntries(Object.entries(schemas).map(([id, schema]) => [id, withoutIdentity(schema)]));
}

/** Pure: the JSON Schema of one schema, which refers to no other. */
export function jsonSchema(schema: z.ZodType, dialect: Dialect): JsonSchema {
  return withoutIdentity(z.toJSONSchema(schema, options(dialect)));
}

function options(dialect: Dialect) {
  return {
    target: dialect === 'draft-07' ? ('draft-7' as const) : dialect,
    // Money is an integer and a time is text, whatever they become here.
    io: 'input' as const,
    // What only code can check. The schema's metadata says the rest.
    unrepresentable: 'any' as const,
    override: ({ jsonSchema: schema }: { jsonSchema: Record<string, unknown> }): void => {
      joinNull(schema);
      // `format` says it, and the pattern fills half a screen.
      if (schema['format'] === 'date-time' || schema['format'] === 'uuid') delete schema['pattern'];
      // Keys of JSON objects are text.
      delete schema['propertyNames'];
    },
  };
}

/** Says "or null" with a list of types, which generators of clients understand better than `anyOf`. */
function joinNull(schema: Record<string, unknown>): void {
  const [value, none] = (schema['anyOf'] ?? []) as (Record<string, unknown> | undefined)[];
  if (typeof value?.['type'] !== 'string' || none?.['type'] !== 'null') return;
  delete schema['anyOf'];
  const { enum: values } = value as { enum?: readonly unknown[] };
  Object.assign(schema, value, { type: [value['type'], 'null'] }, values && { enum: [...values, null] });
}

/** The document says which dialect it has, and where its schemas are. */
function withoutIdentity(schema: JsonSchema): JsonSchema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$schema' && key !== '$id'));
}

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

/** T as JSON carries it: dates are text. */
type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Entry)[]
    ? Json<Entry>[]
    : T extends object
      ? { -readonly [Key in keyof T]: Json<T[Key]> }
      : T;

/** A time in an answer or an event: ISO 8601 in UTC with milliseconds. */
export const instant = z.iso.datetime();

/** An amount in an answer or an event. */
export const money = z.int().describe('In minor units, such as cents');
