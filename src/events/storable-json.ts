/**
 * Text as PostgreSQL can hold it in text and jsonb: without NUL, and without half of an emoji where somebody cut it.
 * What providers say goes into evidence, and one bad character must not keep a payment from being booked.
 */
export function storableText(text: string): string {
  return Buffer.from(text.replaceAll('\0', ''), 'utf8').toString('utf8');
}

/** JSON whose texts, keys included, PostgreSQL can hold. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return storableText(part);
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, member]) => [storableText(key), member]));
  });
}
