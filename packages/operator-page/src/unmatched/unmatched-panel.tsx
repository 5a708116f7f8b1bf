import { type ComponentChildren, type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type UnmatchedPayment } from '../api/order-contract';
import { ManyDialog } from '../bulk/many-dialog';
import { partsOf, runMany } from '../bulk/run-many';
import { formatMoney } from '../format/format-money';
import { useApp } from '../session/app-context';
import { ChosenButtons } from '../ui/chosen-buttons';
import { Panel } from '../ui/panel';
import { isForeign, isOpen, unmatchedRequest } from './unmatched-state';
import { UnmatchedTable } from './unmatched-table';

interface UnmatchedPanelProps {
  readonly payments: readonly UnmatchedPayment[];
  readonly onChange: () => void;
  /** Below the table. */
  readonly children: ComponentChildren;
}

/** Unmatched payments, some of which can be refunded or settled together. */
export function UnmatchedPanel({ payments, onChange, children }: UnmatchedPanelProps): JSX.Element {
  const { t, api, locale, showDialog } = useApp();
  const [chosen, onChoose] = useState<ReadonlySet<string>>(new Set());
  const found = payments.filter((payment) => isOpen(payment) && chosen.has(payment.id));
  const onDone = (): void => {
    onChoose(new Set());
    onChange();
  };
  const start = (verb: 'refund' | 'settle'): void => {
    const perform = async (part: readonly UnmatchedPayment[], reason: string): Promise<number> => {
      for (const payment of part) await api.post(...unmatchedRequest(payment, verb, { reason }));
      return part.length;
    };
    const action = {
      texts: verb === 'refund' ? t.actions.refundMany : t.actions.settleMany,
      size: found.length,
      about: found.map((one) => `${one.reference}: ${formatMoney(one.amount, one.currency, locale)}`),
      isDangerous: verb === 'refund',
      run: (reason: string, ...rest: Rest) => runMany(partsOf(found, 1), (part) => perform(part, reason), ...rest),
    };
    showDialog(<ManyDialog action={action} onDone={onDone} />);
  };
  const actions = found.some(isForeign) ? (['settle'] as const) : (['refund', 'settle'] as const);
  return (
    <Panel
      title={t.shell.unmatched}
      aside={<ChosenButtons count={found.length} actions={actions} role="money" onStart={start} />}
    >
      <UnmatchedTable payments={payments} choice={{ chosen, onChoose }} onChange={onChange} />
      {children}
    </Panel>
  );
}

type Rest = [onProgress: Parameters<typeof runMany>[2], signal: AbortSignal];
