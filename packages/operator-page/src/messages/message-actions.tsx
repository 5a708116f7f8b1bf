import { type JSX } from 'preact';
import { formatCount } from '../format/format-count';
import { useApp, useMay } from '../session/app-context';
import { useAction } from '../ui/use-action';

/** Replays or discards all parked messages. */
export function MessageActions({ onChange }: { onChange: () => void }): JSX.Element | null {
  const { t, api, locale } = useApp();
  const mayOperate = useMay('operate');
  const open = useAction(onChange);
  if (!mayOperate) return null;
  const start = (verb: 'replay' | 'discard'): void => {
    const texts = verb === 'replay' ? t.actions.replayMessages : t.actions.discardMessages;
    open({
      ...texts,
      isDangerous: verb === 'discard',
      done: (result) => texts.done(formatCount((result as { count: number }).count, locale)),
      perform: (reason) => api.post(`messages/parked/${verb}`, { reason }),
    });
  };
  return (
    <span class="buttons">
      <button type="button" class="small" onClick={() => start('replay')}>
        {t.attention.messages.replayAll}
      </button>
      <button type="button" class="small danger-quiet" onClick={() => start('discard')}>
        {t.attention.messages.discardAll}
      </button>
    </span>
  );
}
