/**
 * Text as PostgreSQL can hold it in text and jsonb: without NUL, and without half of an emoji where somebody cut it.
 * What providers say goes into evidence, and one bad character must not keep a payment from being booked.
 */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('utf8');
}

/** How JSON writes NUL and halves of emojis. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

/** JSON whose texts, keys included, PostgreSQL can hold. */
export function storableJson(value: unknown): string {
  const json = JSON.stringify(value);
  // Nearly always: a replacer for every member costs six times as much.
  return UNSTORABLE.test(json) ? cleanJson(value) : json;
}

function cleanJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return storableText(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, member]) => [storableText(key), member]));
  });
}
