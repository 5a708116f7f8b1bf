import { type z } from 'zod';

/** One problem of an input. `path` is dot-separated, and empty for the input as a whole. */
export interface InputProblem {
  readonly path: string;
  readonly message: string;
}

/** More do not help, and 1000 invalid orders would make a response of megabytes. */
export const MAX_PROBLEMS = 50;

/** Lists each problem once, in order. @param noObject the message for an input that is not an object. */
export function problemsOf(error: z.ZodError, noObject?: string, at: readonly string[] = []): InputProblem[] {
  const problems = error.issues.flatMap((issue) => toProblems(issue, at, noObject));
  // A number that is too large is not a safe integer either. One sentence is enough.
  return [...new Map(problems.map((problem) => [toSentence(problem), problem])).values()];
}

export function toSentence({ path, message }: InputProblem): string {
  return path === '' ? message : `${path} ${message}`;
}

function toProblems(issue: z.core.$ZodIssue, at: readonly string[], noObject = 'must be an object'): InputProblem[] {
  const path = [...at, ...issue.path.map(String)];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key].join('.'), message: 'is not a known field' }));
    case 'invalid_type': {
      const notAnObject = path.length > 0 ? 'must be a JSON object' : noObject;
      return [{ path: path.join('.'), message: issue.expected === 'object' ? notAnObject : issue.message }];
    }
    default:
      return [{ path: path.join('.'), message: issue.message }];
  }
}
