import { type JSX } from 'preact';
import { type KindState } from '../api/contract';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';
import { useAction } from '../ui/use-action';

/** Pauses or resumes a kind. */
export function KindSwitch({ kind, onChange }: { kind: KindState; onChange: () => void }): JSX.Element {
  const { t, api } = useApp();
  const open = useAction(onChange);
  const name = nameOf(t.domain.kinds, kind.kind);
  const texts = kind.paused ? t.actions.resumeKind : t.actions.pauseKind;
  const verb = kind.paused ? 'resume' : 'pause';
  const start = (): void =>
    open({
      ...texts,
      title: texts.title(name),
      done: texts.done(name),
      perform: (reason) => api.post(`kinds/${encodeURIComponent(kind.kind)}/${verb}`, { reason }),
    });
  return (
    <button type="button" class="small" aria-label={texts.title(name)} onClick={start}>
      {kind.paused ? t.now.resume : t.now.pause}
    </button>
  );
}
