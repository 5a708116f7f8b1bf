import { type JSX } from 'preact';
import { type OrderDetails } from '../api/order-contract';
import { usePoll } from '../poll/use-poll';
import { useApp } from '../session/app-context';
import { Loaded } from '../ui/loaded';
import { Panel } from '../ui/panel';
import { UnmatchedTable } from '../unmatched/unmatched-table';
import { AttemptsPanel } from './attempts-panel';
import { LinesPanel } from './lines-panel';
import { OrderHead } from './order-head';
import { PersonalPanel } from './personal-panel';
import { TimelinePanel } from './timeline-panel';
import { TimeoutsPanel } from './timeouts-panel';

const INTERVAL_MS = 3_000;

/** Everything about one order, and what can be done with it. */
export function OrderView({ id }: { id: string }): JSX.Element {
  const { api, t } = useApp();
  const poll = usePoll((signal) => api.get<OrderDetails>(`orders/${encodeURIComponent(id)}`, {}, signal), INTERVAL_MS, [
    id,
  ]);
  if (poll.problem?.code === 'ORDER_NOT_FOUND') return <p class="note note-warn">{t.order.notFound}</p>;
  return (
    <Loaded poll={poll}>
      {(order) => (
        <div class="order">
          <OrderHead order={order} onChange={poll.refresh} />
          <div class="columns columns-wide">
            <TimelinePanel timeline={order.timeline} />
            <div class="stack">
              <AttemptsPanel order={order} onChange={poll.refresh} />
              <LinesPanel order={order} />
              <TimeoutsPanel timeouts={order.timeouts} />
              {order.unmatched.length > 0 && (
                <Panel title={t.order.unmatched}>
                  <UnmatchedTable isOfOneOrder payments={order.unmatched} onChange={poll.refresh} />
                </Panel>
              )}
              <PersonalPanel order={order} />
            </div>
          </div>
        </div>
      )}
    </Loaded>
  );
}
