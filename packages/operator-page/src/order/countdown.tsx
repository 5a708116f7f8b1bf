import { type JSX } from 'preact';
import { type OrderDetails } from '../api/order-contract';
import { formatCountdown, formatRelative } from '../format/format-time';
import { useNow } from '../poll/use-now';
import { useApp } from '../session/app-context';

const SOON_MS = 60_000;

/** The time until the deadline of an order that is still open. Its name is said once, not every second. */
export function Countdown({ order }: { order: OrderDetails }): JSX.Element | null {
  const { t, locale } = useApp();
  const now = useNow();
  if (order.status !== 'PENDING' && order.status !== 'CLOSING') return null;
  const leftMs = Date.parse(order.expiresAt) - now;
  if (leftMs <= 0) {
    const text = order.autoClose ? t.order.passed(formatRelative(now + leftMs, now, locale)) : t.order.noAutoClose;
    return <span class="countdown countdown-over">{text}</span>;
  }
  return (
    <span class={`countdown ${leftMs < SOON_MS ? 'countdown-soon' : ''}`} role="timer" aria-label={t.order.timeLeft}>
      <span class="muted">{t.order.timeLeft}</span> <span class="number">{formatCountdown(leftMs)}</span>
    </span>
  );
}
