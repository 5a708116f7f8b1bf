import { z } from 'zod';
import { LIMITS } from '../limits';

/** jsonb rejects NUL and unpaired surrogates. */
const UNSTORABLE = /\0|\p{Cs}/u;

type JsonRecord = Readonly<Record<string, unknown>>;

/** Data that a shop stores with its order: any JSON object that PostgreSQL can store, at most 8 KiB. */
export const metadataSchema = z
  .custom<JsonRecord>()
  .superRefine((value, context) => {
    const problem = findProblem(value);
    if (problem) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ type: 'object', description: 'Any JSON object of 8 KiB and 16 levels at most' });

function findProblem(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'must be a JSON object';
  // Checked first, because JSON.stringify overflows the stack some thousand levels down, and throws for a bigint.
  const problem = findUnstorable(value, LIMITS.metadataDepth);
  if (problem) return problem;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  const { metadataBytes } = LIMITS;
  return bytes > metadataBytes ? `must be at most ${metadataBytes} bytes of JSON (got ${bytes})` : undefined;
}

function findUnstorable(value: unknown, depth: number): string | undefined {
  switch (typeof value) {
    case 'string':
      return UNSTORABLE.test(value) ? 'must not contain NUL or an unpaired surrogate' : undefined;
    case 'number':
      return Number.isFinite(value) ? undefined : `must not contain ${value}, which JSON cannot carry`;
    case 'bigint':
    case 'function':
    case 'symbol':
      return `must not contain a ${typeof value}, which JSON cannot carry`;
    case 'object':
      return value === null ? undefined : findUnstorableMember(value, depth);
    default:
      return undefined;
  }
}

function findUnstorableMember(value: object, depth: number): string | undefined {
  if (depth === 0) return `must not be nested deeper than ${LIMITS.metadataDepth} levels`;
  if (hasToJson(value)) return findUnstorable(value.toJSON(), depth - 1);
  for (const part of Object.entries(value).flat()) {
    const problem = findUnstorable(part, depth - 1);
    if (problem) return problem;
  }
  return undefined;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}
