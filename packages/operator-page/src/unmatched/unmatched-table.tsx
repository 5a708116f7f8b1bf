import { type JSX } from 'preact';
import { type UnmatchedPayment } from '../api/order-contract';
import { nameOf } from '../i18n/language';
import { useApp, useMay } from '../session/app-context';
import { Badge } from '../ui/badge';
import { type Choice, choiceColumn } from '../ui/choice-column';
import { column, DataTable } from '../ui/data-table';
import { Instant, Money, OrderLink } from '../ui/values';
import { UnmatchedActions } from './unmatched-actions';
import { isActionable, isOpen } from './unmatched-state';

interface UnmatchedTableProps {
  readonly payments: readonly UnmatchedPayment[];
  /** Absent: none can be chosen. */
  readonly choice?: Choice;
  /** Whether all belong to the order of the page. */
  readonly isOfOneOrder?: boolean;
  readonly onChange: () => void;
}

/** Unmatched payments with the actions for those that wait or were settled. */
export function UnmatchedTable({ payments, choice, isOfOneOrder, onChange }: UnmatchedTableProps): JSX.Element {
  const { t } = useApp();
  const mayMove = useMay('money');
  const texts = t.attention.unmatched;
  const actions = {
    title: <span class="sr-only">{t.order.actions}</span>,
    cell: (payment: UnmatchedPayment) =>
      isActionable(payment) && <UnmatchedActions payment={payment} onChange={onChange} />,
  };
  const order = column<UnmatchedPayment>(texts.order, ({ orderId }) =>
    orderId === null ? '–' : <OrderLink id={orderId} />,
  );
  const boxes =
    choice &&
    choiceColumn<UnmatchedPayment>({
      ...{ ...choice, rows: payments.filter(isOpen) },
      ...{ keyOf: ({ id }) => id, nameOf: ({ reference }) => reference },
    });
  return (
    <DataTable
      caption={t.shell.unmatched}
      empty={texts.none}
      rows={payments}
      rowKey={({ id }) => id}
      columns={[
        ...(boxes && mayMove ? [boxes] : []),
        column<UnmatchedPayment>(texts.payment, (one) => <PaymentName payment={one} />),
        column<UnmatchedPayment>(texts.reason, ({ reason }) => nameOf(t.domain.unmatchedReasons, reason)),
        column<UnmatchedPayment>(texts.handling, (one) => (
          <Badge tone={isOpen(one) ? 'warn' : 'muted'}>{nameOf(t.domain.handlings, one.handling)}</Badge>
        )),
        ...(isOfOneOrder ? [] : [order]),
        column<UnmatchedPayment>(texts.amount, (one) => <Money amount={one.amount} currency={one.currency} />, true),
        column<UnmatchedPayment>(texts.received, ({ createdAt }) => <Instant at={createdAt} />, true),
        ...(mayMove ? [actions] : []),
      ]}
    />
  );
}

function PaymentName({ payment: { provider, reference } }: { payment: UnmatchedPayment }): JSX.Element {
  return (
    <span>
      {provider} <span class="id">{reference}</span>
    </span>
  );
}
