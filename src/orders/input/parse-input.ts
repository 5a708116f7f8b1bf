import { type z } from 'zod';
import { RequestRejectedError } from './request-rejected-error';

/** One thing that is wrong with an input; `path` in dots, empty for the whole. */
export interface InputProblem {
  readonly path: string;
  readonly message: string;
}

/** More help nobody, and 1000 bad orders would make an answer of megabytes. */
const MAX_PROBLEMS = 50;

/**
 * Checks `input` and brings it into the shape of `schema`.
 *
 * @param at where `input` itself stands, e.g. the name of a path parameter.
 * @throws RequestRejectedError `VALIDATION_FAILED` with every problem, at most 50.
 */
export function parseInput<T>(schema: z.ZodType<T>, input: unknown, at?: string): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => toProblems(issue, at ? [at] : []));
  // A number that is too large is no safe integer either: one sentence is enough.
  const distinct = new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem]));
  const errors = [...distinct.values()].slice(0, MAX_PROBLEMS);
  const sentence = errors.map(({ path, message }) => (path === '' ? message : `${path} ${message}`)).join('; ');
  throw new RequestRejectedError('VALIDATION_FAILED', sentence, { errors });
}

function toProblems(issue: z.core.$ZodIssue, at: readonly string[]): InputProblem[] {
  const path = [...at, ...issue.path.map(String)];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a known field' }));
    case 'invalid_type':
      return [{ path: path.join('.'), message: issue.expected === 'object' ? notAnObject(path) : issue.message }];
    default:
      return [{ path: path.join('.'), message: issue.message }];
  }
}

function notAnObject(path: readonly string[]): string {
  if (path.length > 0) return 'must be a JSON object';
  return 'the body must be a JSON object, sent with content-type application/json';
}
