import { z } from 'zod';

const MAX_BYTES = 8_192;
/** Deeper data is nobody's note on an order, and costs a stack frame per level wherever it is walked. */
const MAX_DEPTH = 16;
/** jsonb takes neither NUL nor half a surrogate pair. */
const UNSTORABLE = /\0|\p{Cs}/u;

type JsonRecord = Readonly<Record<string, unknown>>;

/** What a shop keeps with its order: any JSON object that PostgreSQL can store, at most 8 KiB. */
export const metadataSchema = z.custom<JsonRecord>().superRefine((value, context) => {
  const problem = findProblem(value);
  if (problem) context.addIssue({ code: 'custom', message: problem });
});

function findProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a JSON object';
  // First, as JSON.stringify itself runs out of stack some thousand levels down.
  const problem = findUnstorable(value, MAX_DEPTH);
  if (problem) return problem;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  return bytes > MAX_BYTES ? `must be at most ${MAX_BYTES} bytes of JSON (got ${bytes})` : undefined;
}

function findUnstorable(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') {
    return UNSTORABLE.test(value) ? 'must not contain NUL or half a surrogate pair' : undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth === 0) return `must not be nested deeper than ${MAX_DEPTH} levels`;
  for (const part of Object.entries(value).flat()) {
    const problem = findUnstorable(part, depth - 1);
    if (problem) return problem;
  }
  return undefined;
}
