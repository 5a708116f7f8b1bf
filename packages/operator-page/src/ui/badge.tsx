import { type ComponentChildren, type JSX } from 'preact';
import { type OrderStatus } from '../api/contract';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';

export type BadgeTone = 'ok' | 'warn' | 'bad' | 'info' | 'muted';

/** A state in a word. The color only repeats what the word says. */
export function Badge({ tone, children }: { tone: BadgeTone; children: ComponentChildren }): JSX.Element {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

const STATUS_TONES: Readonly<Record<OrderStatus, BadgeTone>> = {
  PENDING: 'info',
  CLOSING: 'warn',
  PAID: 'ok',
  CLOSED: 'muted',
  CANCELLED: 'muted',
  REFUNDING: 'warn',
  CLOSED_REFUNDED: 'muted',
};

export function StatusBadge({ status }: { status: OrderStatus }): JSX.Element {
  const { t } = useApp();
  return <Badge tone={STATUS_TONES[status] ?? 'muted'}>{nameOf(t.domain.statuses, status)}</Badge>;
}
