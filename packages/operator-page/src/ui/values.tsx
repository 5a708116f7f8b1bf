import { type JSX } from 'preact';
import { formatCount } from '../format/format-count';
import { formatMoney } from '../format/format-money';
import { formatInstant, formatRelative, formatShort } from '../format/format-time';
import { useNow } from '../poll/use-now';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';

export function Money({ amount, currency }: { amount: number; currency: string }): JSX.Element {
  return <span class="number">{formatMoney(amount, currency, useApp().locale)}</span>;
}

/** @param cap where the service stops counting */
export function Count({ value, cap }: { value: number; cap?: number }): JSX.Element {
  return <span class="number">{formatCount(value, useApp().locale, cap)}</span>;
}

/** A time of day, or date and time; the exact instant is its title. */
export function Instant({ at }: { at: string }): JSX.Element {
  const { locale, clock } = useApp();
  const ms = Date.parse(at);
  return (
    <time class="number" dateTime={at} title={formatInstant(ms, locale)}>
      {formatShort(ms, clock.now(), locale)}
    </time>
  );
}

/** How long ago, or how long until; it counts by itself. */
export function Relative({ at }: { at: string }): JSX.Element {
  const { locale } = useApp();
  const now = useNow();
  const ms = Date.parse(at);
  return (
    <time class="number" dateTime={at} title={formatInstant(ms, locale)}>
      {formatRelative(ms, now, locale)}
    </time>
  );
}

export function OrderLink({ id }: { id: string }): JSX.Element {
  return (
    <a class="id" data-row-link href={formatRoute('order', {}, id)}>
      {id}
    </a>
  );
}
