import { type ComponentChildren, type JSX } from 'preact';
import { type Poll } from '../poll/use-poll';
import { useApp } from '../session/app-context';
import { ProblemNote } from './problem-note';

interface LoadedProps<T> {
  readonly poll: Poll<T>;
  readonly children: (data: T) => ComponentChildren;
}

/** What was loaded; before that, that it loads, or why it cannot. */
export function Loaded<T>({ poll, children }: LoadedProps<T>): JSX.Element {
  const { t } = useApp();
  if (poll.data !== undefined) return <>{children(poll.data)}</>;
  if (poll.problem) return <ProblemNote problem={poll.problem} />;
  return (
    <p class="empty" aria-busy="true">
      {t.shell.loading}…
    </p>
  );
}
