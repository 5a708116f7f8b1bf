import { type JSX } from 'preact';
import { COUNT_CAP, formatAtLeast, formatCount } from '../format/format-count';
import { useApp } from '../session/app-context';

interface TileProps {
  readonly label: string;
  /** Null: nobody can say at the moment. */
  readonly value: number | null;
  /** There are more, which were not counted. */
  readonly isPartial?: boolean;
  /** Where the service stops counting. */
  readonly cap?: number;
  readonly href: string;
  /** How it looks if it is more than 0. */
  readonly tone?: 'plain' | 'warn' | 'bad';
}

/** A number that leads to the list behind it. */
export function Tile({
  label,
  value,
  isPartial = false,
  cap = COUNT_CAP,
  href,
  tone = 'plain',
}: TileProps): JSX.Element {
  const { t, locale } = useApp();
  const format = isPartial && value !== cap ? formatAtLeast : formatCount;
  const shown = value === null ? '–' : format(value, locale, cap);
  return (
    <a class={`tile tile-${value ? tone : 'plain'}`} href={href}>
      <span class="tile-label">{label}</span>
      <span class="tile-value" {...(value === null ? { title: t.now.unknown } : {})}>
        {shown}
      </span>
    </a>
  );
}
