import { type JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { type Tone, useApp } from '../session/app-context';

export interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: Tone;
}

interface NoticesProps {
  readonly notices: readonly Notice[];
  readonly onDismiss: (id: number) => void;
}

const SHOWN_MS = 8_000;

/** Short notices at the edge of the page. The region is always there, because only then screen readers follow it. */
export function Notices({ notices, onDismiss }: NoticesProps): JSX.Element {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.map((notice) => (
        <NoticeLine key={notice.id} notice={notice} onDismiss={onDismiss} />
      ))}
    </div>
  );
}

function NoticeLine({ notice, onDismiss }: { notice: Notice; onDismiss: NoticesProps['onDismiss'] }): JSX.Element {
  const { t } = useApp();
  useEffect(() => {
    const timer = window.setTimeout(() => onDismiss(notice.id), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [notice.id, onDismiss]);
  return (
    <p class={`notice notice-${notice.tone}`}>
      <span>{notice.text}</span>
      <button type="button" class="icon-button" aria-label={t.shell.dismiss} onClick={() => onDismiss(notice.id)}>
        <span aria-hidden="true">×</span>
      </button>
    </p>
  );
}
