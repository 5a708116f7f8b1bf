import { type JSX } from 'preact';
import { type Overview } from '../api/contract';
import { MINUTE_CAP } from '../format/format-count';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { Tile } from './tile';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** How many orders are in which state, and due. */
export function OrderTiles({ overview }: { overview: Overview }): JSX.Element {
  const { t } = useApp();
  const { orders, due } = overview;
  const at = (offsetMs: number): string => new Date(Date.parse(overview.now) + offsetMs).toISOString();
  const isPartial = orders?.partial ?? false;
  const open = ['PENDING', 'CLOSING'];
  const links = {
    pending: formatRoute('orders', { status: 'PENDING' }),
    closing: formatRoute('orders', { status: 'CLOSING' }),
    next: formatRoute('orders', { status: 'PENDING', expiresFrom: at(0), expiresTo: at(MINUTE_MS) }),
    overdue: formatRoute('orders', { status: open, expiresTo: at(0) }),
    paid: formatRoute('orders', { status: 'PAID', createdFrom: at(-DAY_MS) }),
    closed: formatRoute('orders', { status: 'CLOSED', createdFrom: at(-DAY_MS) }),
  };
  return (
    <section class="tiles" aria-label={t.now.ordersTitle}>
      <Tile label={t.now.pending} value={orders?.pending ?? null} isPartial={isPartial} href={links.pending} />
      <Tile label={t.now.closing} value={orders?.closing ?? null} isPartial={isPartial} href={links.closing} />
      <Tile label={t.now.dueNextMinute} value={due?.nextMinute ?? null} cap={MINUTE_CAP} href={links.next} />
      <Tile label={t.now.overdue} value={due?.overdue ?? null} href={links.overdue} tone="warn" />
      <Tile label={t.now.paid24h} value={orders?.paid24h ?? null} isPartial={isPartial} href={links.paid} />
      <Tile label={t.now.closed24h} value={orders?.closed24h ?? null} isPartial={isPartial} href={links.closed} />
    </section>
  );
}
