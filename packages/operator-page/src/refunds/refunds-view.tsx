import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type Refund } from '../api/attention-contract';
import { nameOf } from '../i18n/language';
import { usePoll } from '../poll/use-poll';
import { formatRoute } from '../route/route';
import { useParked } from '../parked/use-parked';
import { useApp, useMay } from '../session/app-context';
import { type Choice, choiceColumn } from '../ui/choice-column';
import { ChosenButtons } from '../ui/chosen-buttons';
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
        {(refunds) =>
          state === 'failed' ? (
            <FailedRefunds refunds={refunds} onChange={poll.refresh} />
          ) : (
            <Panel title={texts.pending}>
              <RefundsTable refunds={refunds} />
            </Panel>
          )
        }
      </Loaded>
    </>
  );
}

/** Refunds whose timeout is parked: it can be replayed now or later, and the provider gets the same refund number. */
function FailedRefunds({ refunds, onChange }: { refunds: readonly Refund[]; onChange: () => void }): JSX.Element {
  const { t } = useApp();
  const [chosen, onChoose] = useState<ReadonlySet<string>>(new Set());
  const open = useParked(() => {
    onChoose(new Set());
    onChange();
  });
  const timeouts = refunds.filter(({ number }) => chosen.has(number)).map(({ timeout }) => timeout);
  return (
    <Panel
      title={t.attention.refunds.failed}
      aside={
        <ChosenButtons
          count={timeouts.length}
          actions={['replay', 'reschedule']}
          role="operate"
          onStart={(action) => open(action, { timeouts })}
        />
      }
    >
      <RefundsTable refunds={refunds} choice={{ chosen, onChoose }} />
    </Panel>
  );
}

/** @param choice absent: none can be chosen */
function RefundsTable({ refunds, choice }: { refunds: readonly Refund[]; choice?: Choice }): JSX.Element {
  const { t } = useApp();
  const mayOperate = useMay('operate');
  const boxes =
    choice &&
    choiceColumn<Refund>({
      ...{ ...choice, rows: refunds },
      ...{ keyOf: ({ number }) => number, nameOf: ({ reference }) => reference },
    });
  const texts = t.attention.refunds;
  return (
    <DataTable
      caption={t.shell.refunds}
      empty={texts.none}
      rows={refunds}
      rowKey={({ number }) => number}
      columns={[
        ...(boxes && mayOperate ? [boxes] : []),
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
      ]}
    />
  );
}
