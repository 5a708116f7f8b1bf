import { type JSX } from 'preact';
import { type Refund } from '../api/attention-contract';
import { nameOf } from '../i18n/language';
import { usePoll } from '../poll/use-poll';
import { formatRoute } from '../route/route';
import { useApp, useMay } from '../session/app-context';
import { ParkedDialog } from '../parked/parked-dialog';
import { column, DataTable } from '../ui/data-table';
import { Loaded } from '../ui/loaded';
import { Panel } from '../ui/panel';
import { Instant, Money, OrderLink } from '../ui/values';

const INTERVAL_MS = 10_000;
const STATES = ['failed', 'pending'] as const;

/** Refunds that failed, and those that are on their way. */
export function RefundsView({ query }: { query: URLSearchParams }): JSX.Element {
  const { api, t } = useApp();
  const state = query.get('state') === 'pending' ? 'pending' : 'failed';
  const poll = usePoll((signal) => api.get<Refund[]>('refunds', { state }, signal), INTERVAL_MS, [state]);
  const texts = t.attention.refunds;
  return (
    <>
      <nav class="tabs" aria-label={texts.which}>
        {STATES.map((one) => (
          <a
            key={one}
            href={formatRoute('refunds', { state: one })}
            {...(one === state ? { 'aria-current': 'page' as const } : {})}
          >
            {texts[one]}
          </a>
        ))}
      </nav>
      <Loaded poll={poll}>
        {(refunds) => (
          <Panel title={texts[state]}>
            <RefundsTable refunds={refunds} isParked={state === 'failed'} onChange={poll.refresh} />
          </Panel>
        )}
      </Loaded>
    </>
  );
}

interface RefundsTableProps {
  readonly refunds: readonly Refund[];
  readonly isParked: boolean;
  readonly onChange: () => void;
}

function RefundsTable({ refunds, isParked, onChange }: RefundsTableProps): JSX.Element {
  const { t } = useApp();
  const mayOperate = useMay('operate');
  const actions = {
    title: <span class="sr-only">{t.order.actions}</span>,
    cell: (refund: Refund) => <ReplayButton refund={refund} onChange={onChange} />,
  };
  const texts = t.attention.refunds;
  return (
    <DataTable
      caption={t.shell.refunds}
      empty={texts.none}
      rows={refunds}
      rowKey={({ number }) => number}
      columns={[
        column<Refund>(texts.order, ({ orderId }) => <OrderLink id={orderId} />),
        column<Refund>(texts.payment, ({ provider, reference }) => (
          <span>
            {provider} <span class="id">{reference}</span>
          </span>
        )),
        column<Refund>(texts.amount, (one) => <Money amount={one.amount} currency={one.currency} />, true),
        column<Refund>(texts.reason, ({ reason }) => nameOf(t.domain.refundReasons, reason)),
        column<Refund>(texts.by, ({ requestedBy }) => requestedBy ?? texts.policy),
        column<Refund>(texts.created, ({ createdAt }) => <Instant at={createdAt} />, true),
        column<Refund>(texts.failures, ({ timeout }) => timeout.attempts, true),
        column<Refund>(texts.lastError, ({ timeout }) => timeout.lastError ?? '–'),
        ...(isParked && mayOperate ? [actions] : []),
      ]}
    />
  );
}

function ReplayButton({ refund, onChange }: { refund: Refund; onChange: () => void }): JSX.Element {
  const { t, showDialog } = useApp();
  const { kind, key } = refund.timeout;
  const start = (): void =>
    showDialog(<ParkedDialog action="replay" choice={{ timeouts: [{ kind, key }] }} onDone={onChange} />);
  return (
    <button type="button" class="small" aria-label={`${t.attention.replay} ${refund.reference}`} onClick={start}>
      {t.attention.replay}
    </button>
  );
}
