import { type ApiProblem } from '../api/api-problem';
import { type Messages } from '../i18n/en';

/** In the words of the page if it knows the code, else in those of the service. */
export function describeProblem(problem: ApiProblem, t: Messages): string {
  if (problem.status === 0) return t.problems.noAnswer;
  const known: Readonly<Record<string, string>> = t.problems;
  return Object.hasOwn(known, problem.code) ? (known[problem.code] ?? problem.message) : problem.message;
}
