import * as fc from 'fast-check';
import { storableJson, storableText } from '../../../src/database/own-connection';

/** Any 16-bit units, halves of emojis and NUL among them. */
const nasty = fc.string({
  unit: fc.oneof(
    fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u0000', '"'),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  ),
});
const value = fc.letrec((tie) => ({
  node: fc.oneof({ maxDepth: 3 }, nasty, fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('record')),
  list: fc.array(tie('node'), { maxLength: 4 }),
  record: fc.dictionary(nasty, tie('node'), { maxKeys: 4 }),
})).node;

/** Every text of a JSON value, keys included. */
function textsOf(json: unknown): string[] {
  if (typeof json === 'string') return [json];
  if (typeof json !== 'object' || json === null) return [];
  return Object.entries(json).flatMap(([key, member]) => [key, ...textsOf(member)]);
}

describe('JSON for PostgreSQL', () => {
  it('has no text that PostgreSQL refuses', () => {
    fc.assert(
      fc.property(value, (given) => {
        for (const text of textsOf(JSON.parse(storableJson(given)))) expect(storableText(text)).toBe(text);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is what was given, wherever that can be stored', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (given) => {
        expect(JSON.parse(storableJson(given))).toEqual(JSON.parse(JSON.stringify(given)));
      }),
    );
    expect(storableJson({ text: 'a\\u0000b' })).toBe('{"text":"a\\\\u0000b"}');
  });

  it('holds what an adapter gave as evidence, also with a bigint, or an object that holds itself', () => {
    const shared = { text: 'a\0b' };
    const evidence: Record<string, unknown> = { id: 9_007_199_254_740_993n, list: [shared, shared] };
    evidence['again'] = evidence;
    expect(JSON.parse(storableJson(evidence))).toEqual({
      id: '9007199254740993',
      list: [{ text: 'ab' }, { text: 'ab' }],
    });
  });
});
