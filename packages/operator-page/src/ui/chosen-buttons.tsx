import { type JSX } from 'preact';
import { formatCount } from '../format/format-count';
import { useApp, useMay } from '../session/app-context';

interface ChosenButtonsProps {
  readonly count: number;
  readonly onStart: (action: 'replay' | 'discard') => void;
}

/** Replay and discard, for what is chosen in a list. */
export function ChosenButtons({ count, onStart }: ChosenButtonsProps): JSX.Element | null {
  const { t, locale } = useApp();
  const mayOperate = useMay('operate');
  if (!mayOperate) return null;
  return (
    <span class="buttons">
      <span class="muted number">{t.attention.chosen(formatCount(count, locale))}</span>
      <button type="button" class="small" disabled={count === 0} onClick={() => onStart('replay')}>
        {t.attention.replay}
      </button>
      <button type="button" class="small danger-quiet" disabled={count === 0} onClick={() => onStart('discard')}>
        {t.attention.discard}
      </button>
    </span>
  );
}
