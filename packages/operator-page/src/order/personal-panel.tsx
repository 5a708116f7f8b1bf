import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type OrderDetails, type Revealed } from '../api/order-contract';
import { useApp, useMay } from '../session/app-context';
import { Panel } from '../ui/panel';
import { useAction } from '../ui/use-action';

/** Metadata and evidence, which are shown on request only; that is logged. */
export function PersonalPanel({ order }: { order: OrderDetails }): JSX.Element {
  const { t, api } = useApp();
  const mayReveal = useMay('reveal');
  const [revealed, reveal] = useState<Revealed>();
  const open = useAction((result) => reveal(result as Revealed));
  const start = (): void =>
    open({
      ...t.actions.reveal,
      perform: (reason) => api.post<Revealed>(`orders/${encodeURIComponent(order.id)}/reveal`, { reason }),
    });
  if (revealed) return <RevealedPanel revealed={revealed} onHide={() => reveal(undefined)} />;
  const isHidden = order.personal === 'hidden';
  return (
    <Panel title={t.order.personal}>
      <p class="muted">{isHidden ? t.order.personalHidden : t.order.personalNone}</p>
      {isHidden && mayReveal && (
        <button type="button" onClick={start}>
          {t.actions.reveal.title}
        </button>
      )}
    </Panel>
  );
}

function RevealedPanel({ revealed, onHide }: { revealed: Revealed; onHide: () => void }): JSX.Element {
  const { t } = useApp();
  return (
    <Panel
      title={t.order.personal}
      aside={
        <button type="button" class="small" onClick={onHide}>
          {t.order.hideAgain}
        </button>
      }
    >
      <h3>{t.order.metadata}</h3>
      <pre tabIndex={0}>{JSON.stringify(revealed.metadata, null, 2)}</pre>
      <h3>{t.order.evidence}</h3>
      <pre tabIndex={0}>{JSON.stringify(revealed.evidence, null, 2)}</pre>
    </Panel>
  );
}
