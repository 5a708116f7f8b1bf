/**
 * JSON whose texts, keys included, PostgreSQL can hold. Evidence of an adapter may hold anything, and must not keep a
 * payment from being booked: a bigint becomes text, and an object that holds itself is left out there.
 */
export function storableJson(value: unknown): string {
  try {
    const json = JSON.stringify(value);
    // Nearly always: a replacer for every member costs six times as much.
    return UNSTORABLE.test(json) ? cleanJson(value) : json;
  } catch {
    return cleanJson(value);
  }
}

/** How JSON writes NUL and halves of emojis. */
const UNSTORABLE = /\\u(?:0000|d[89a-f])/;

function cleanJson(value: unknown): string {
  const above: { readonly original: object; readonly copy: unknown }[] = [];
  return JSON.stringify(value, function (this: unknown, _key, part: unknown) {
    while (above.length > 0 && above.at(-1)?.copy !== this) above.pop();
    if (typeof part === 'string') return storableText(part);
    if (typeof part === 'bigint') return String(part);
    if (typeof part !== 'object' || part === null) return part;
    if (above.some(({ original }) => original === part)) return undefined;
    const copy = Array.isArray(part) ? part : withStorableKeys(part);
    above.push({ original: part, copy });
    return copy;
  });
}

function withStorableKeys(part: object): object {
  return Object.fromEntries(Object.entries(part).map(([key, member]) => [storableText(key), member]));
}

/**
 * Text as PostgreSQL can hold it in text and jsonb: without NUL, and without half of an emoji where somebody cut it.
 * What providers say goes into evidence, and one bad character must not keep a payment from being booked.
 */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('utf8');
}
