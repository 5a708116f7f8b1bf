import { type JSX } from 'preact';
import { type Attempt, type OrderDetails } from '../api/order-contract';
import { formatMoney } from '../format/format-money';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';
import { Badge, type BadgeTone } from '../ui/badge';
import { column, DataTable } from '../ui/data-table';
import { Panel } from '../ui/panel';
import { useAction } from '../ui/use-action';
import { Instant, Money } from '../ui/values';
import { isRefundable } from './actions-for';

interface AttemptsPanelProps {
  readonly order: OrderDetails;
  readonly onChange: () => void;
}

const TONES: Readonly<Record<string, BadgeTone>> = {
  PAID: 'ok',
  OPEN: 'info',
  CREATED: 'info',
  UNKNOWN: 'warn',
  REFUNDING: 'warn',
};

/** The payment attempts, and the refund of what they hold. */
export function AttemptsPanel({ order, onChange }: AttemptsPanelProps): JSX.Element {
  const { t, session } = useApp();
  const hasRefunds = order.attempts.some((attempt) => isRefundable(attempt, session.roles));
  const refund = {
    title: <span class="sr-only">{t.order.actions}</span>,
    cell: (attempt: Attempt) =>
      isRefundable(attempt, session.roles) && <RefundButton order={order} attempt={attempt} onChange={onChange} />,
  };
  return (
    <Panel title={t.order.attempts}>
      <DataTable
        caption={t.order.attempts}
        empty={t.order.noAttempts}
        rows={order.attempts}
        rowKey={(attempt) => `${attempt.provider} ${attempt.reference} ${attempt.merchantAccount ?? ''}`}
        columns={[
          column<Attempt>(t.order.provider, ({ provider }) => provider),
          column<Attempt>(t.order.reference, ({ reference }) => <span class="id">{reference}</span>),
          column<Attempt>(t.order.status, ({ status }) => (
            <Badge tone={TONES[status] ?? 'muted'}>{nameOf(t.domain.attemptStatuses, status)}</Badge>
          )),
          column<Attempt>(
            t.order.amount,
            (one) => <Money amount={one.paidAmount ?? one.amount} currency={one.paidCurrency ?? one.currency} />,
            true,
          ),
          column<Attempt>(t.order.created, ({ createdAt }) => <Instant at={createdAt} />, true),
          ...(hasRefunds ? [refund] : []),
        ]}
      />
    </Panel>
  );
}

function RefundButton({ order, attempt, onChange }: AttemptsPanelProps & { attempt: Attempt }): JSX.Element {
  const { t, api, locale } = useApp();
  const open = useAction(onChange);
  const texts = t.actions.refund;
  const { provider, reference, merchantAccount } = attempt;
  const key = { provider, reference, ...(merchantAccount === undefined ? {} : { merchantAccount }) };
  const amount = formatMoney(attempt.paidAmount ?? attempt.amount, attempt.paidCurrency ?? attempt.currency, locale);
  const start = (): void =>
    open({
      ...texts,
      what: texts.what(amount),
      isDangerous: true,
      perform: (reason) => api.post(`orders/${encodeURIComponent(order.id)}/refund`, { ...key, reason }),
    });
  return (
    <button type="button" class="small" aria-label={`${texts.title} ${reference}`} onClick={start}>
      {texts.confirm}
    </button>
  );
}
