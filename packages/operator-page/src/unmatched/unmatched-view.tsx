import { type JSX } from 'preact';
import { type UnmatchedPayment } from '../api/order-contract';
import { usePoll } from '../poll/use-poll';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { Loaded } from '../ui/loaded';
import { Pager } from '../ui/pager';
import { UnmatchedPanel } from './unmatched-panel';

const INTERVAL_MS = 10_000;
const PAGE_SIZE = 50;

/** Money that no order takes. */
export function UnmatchedView({ query }: { query: URLSearchParams }): JSX.Element {
  const { api, t } = useApp();
  const after = query.get('after') ?? undefined;
  const poll = usePoll(
    (signal) => api.get<UnmatchedPayment[]>('payments/unmatched', { after, limit: PAGE_SIZE }, signal),
    INTERVAL_MS,
    [after],
  );
  const texts = t.attention.unmatched;
  return (
    <Loaded poll={poll}>
      {(payments) => (
        <UnmatchedPanel payments={payments} onChange={poll.refresh}>
          <Pager
            first={after === undefined ? undefined : { label: texts.first, href: formatRoute('unmatched') }}
            next={
              payments.length < PAGE_SIZE
                ? undefined
                : { label: texts.next, href: formatRoute('unmatched', { after: payments.at(-1)?.id }) }
            }
          />
        </UnmatchedPanel>
      )}
    </Loaded>
  );
}
