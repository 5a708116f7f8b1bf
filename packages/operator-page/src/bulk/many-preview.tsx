import { type JSX } from 'preact';
import { formatCount } from '../format/format-count';
import { useApp } from '../session/app-context';

const SHOWN = 5;

/** The first of the things that an action is about. */
export function ManyPreview({ about }: { about: readonly string[] }): JSX.Element {
  const { t, locale } = useApp();
  const others = about.length - SHOWN;
  return (
    <ul class="preview">
      {about.slice(0, SHOWN).map((one) => (
        <li key={one}>{one}</li>
      ))}
      {others > 0 && <li class="muted">{t.attention.andOthers(formatCount(others, locale))}</li>}
    </ul>
  );
}
