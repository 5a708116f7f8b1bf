import { type JSX } from 'preact';
import { type UnmatchedPayment } from '../api/order-contract';
import { formatMoney } from '../format/format-money';
import { useApp } from '../session/app-context';
import { Field } from '../ui/field';
import { useAction } from '../ui/use-action';
import { isForeign, isOpen, unmatchedRequest, type UnmatchedVerb } from './unmatched-state';

interface UnmatchedActionsProps {
  readonly payment: UnmatchedPayment;
  readonly onChange: () => void;
}

/** Refunds, assigns, or settles money that no order took, or takes its settlement back. */
export function UnmatchedActions({ payment, onChange }: UnmatchedActionsProps): JSX.Element {
  const { t, api, locale } = useApp();
  const open = useAction(onChange);
  const post = (verb: UnmatchedVerb, body: { reason: string; orderId?: string }): Promise<unknown> =>
    api.post(...unmatchedRequest(payment, verb, body));
  const entered = { orderId: payment.orderId ?? '' };
  const { assign, refund, settle, reopen } = t.actions;
  const amount = formatMoney(payment.amount, payment.currency, locale);

  const startRefund = (): void =>
    open({ ...refund, what: refund.what(amount), isDangerous: true, perform: (reason) => post('refund', { reason }) });
  const startAssign = (): void =>
    open({
      ...assign,
      fields: <OrderIdField start={entered.orderId} onInput={(id) => (entered.orderId = id.trim())} />,
      problem: () => (entered.orderId === '' ? t.attention.unmatched.orderId : undefined),
      perform: (reason) => post('assign', { orderId: entered.orderId, reason }),
    });
  const startSettle = (): void => open({ ...settle, perform: (reason) => post('settle', { reason }) });
  const startReopen = (): void => open({ ...reopen, perform: (reason) => post('reopen', { reason }) });
  const buttons = isOpen(payment)
    ? [
        isForeign(payment) ? { texts: assign, start: startAssign } : { texts: refund, start: startRefund },
        { texts: settle, start: startSettle },
      ]
    : [{ texts: reopen, start: startReopen }];
  return (
    <span class="buttons">
      {buttons.map(({ texts, start }) => (
        <button
          key={texts.title}
          type="button"
          class="small"
          aria-label={`${texts.title}: ${payment.reference}`}
          onClick={start}
        >
          {texts.confirm}
        </button>
      ))}
    </span>
  );
}

function OrderIdField({ start, onInput }: { start: string; onInput: (id: string) => void }): JSX.Element {
  const { t } = useApp();
  return (
    <Field label={t.attention.unmatched.orderId}>
      {(ids) => (
        <input
          {...ids}
          autoComplete="off"
          spellcheck={false}
          defaultValue={start}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}
