import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { Badge } from './badge';

/** Whether something runs or an operator has paused it. */
export function RunState({ isPaused }: { isPaused: boolean }): JSX.Element {
  const { t } = useApp();
  return <Badge tone={isPaused ? 'warn' : 'muted'}>{isPaused ? t.now.paused : t.now.running}</Badge>;
}
