import { type JSX } from 'preact';
import { type PauseReason } from '../api/contract';
import { useApp } from '../session/app-context';
import { Badge } from './badge';

interface RunStateProps {
  readonly isPaused: boolean | undefined;
  readonly pause: PauseReason | null | undefined;
}

/** Whether something runs, or who has paused it and why. */
export function RunState({ isPaused, pause }: RunStateProps): JSX.Element {
  const { t } = useApp();
  return (
    <>
      <Badge tone={isPaused ? 'warn' : 'muted'}>{isPaused ? t.now.paused : t.now.running}</Badge>
      {pause && (
        <p class="muted">
          {t.order.by(pause.by)} · {pause.reason}
        </p>
      )}
    </>
  );
}
