/**
 * Pure: JSON Schemas of objects with both fields, and with neither. The API documents exclude them with `not`, which
 * generators of clients ignore. Many of them fail at the shorter `oneOf` and `if`.
 */
export function bothOrNeither(one: string, other: string): readonly object[] {
  const neither = { not: { anyOf: [{ required: [one] }, { required: [other] }] } };
  return [{ required: [one, other] }, neither];
}
