import { type JSX } from 'preact';
import { type ApiProblem } from '../api/api-problem';
import { useApp } from '../session/app-context';
import { describeProblem } from './describe-problem';

/** What went wrong. */
export function ProblemNote({ problem }: { problem: ApiProblem }): JSX.Element {
  const { t } = useApp();
  return (
    <div class="note note-bad" role="alert">
      <strong>{t.problems.title}.</strong> {describeProblem(problem, t)} <code>{problem.code}</code>
    </div>
  );
}
