import { type JSX } from 'preact';
import { type Attention } from '../api/contract';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { Tile } from './tile';

/** What waits for a person. */
export function AttentionTiles({ attention }: { attention: Attention }): JSX.Element {
  const { t, session } = useApp();
  return (
    <section class="tiles" aria-label={t.shell.needsAttention}>
      <Tile label={t.shell.parked} value={attention.parkedTimeouts} href={formatRoute('parked')} tone="bad" />
      <Tile label={t.shell.unmatched} value={attention.unmatchedPayments} href={formatRoute('unmatched')} tone="bad" />
      <Tile label={t.now.failedRefunds} value={attention.refundsFailed} href={formatRoute('refunds')} tone="bad" />
      {session.merchants === null && (
        <Tile label={t.shell.messages} value={attention.parkedMessages} href={formatRoute('messages')} tone="bad" />
      )}
    </section>
  );
}
