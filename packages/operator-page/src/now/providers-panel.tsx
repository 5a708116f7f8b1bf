import { type JSX } from 'preact';
import { type BreakerState, type ProviderState } from '../api/contract';
import { nameOf } from '../i18n/language';
import { formatRoute } from '../route/route';
import { useApp, useMay } from '../session/app-context';
import { Badge, type BadgeTone } from '../ui/badge';
import { column, DataTable } from '../ui/data-table';
import { Panel } from '../ui/panel';
import { RunState } from '../ui/run-state';
import { ProviderActions } from './provider-actions';

interface ProvidersPanelProps {
  readonly providers: readonly ProviderState[];
  readonly onChange: () => void;
}

const TONES: Readonly<Record<BreakerState, BadgeTone>> = { closed: 'ok', 'half-open': 'warn', open: 'bad' };

/** The payment providers with their breakers and limits. */
export function ProvidersPanel({ providers, onChange }: ProvidersPanelProps): JSX.Element {
  const { t } = useApp();
  const mayOperate = useMay('operate');
  const canPause = providers.some(({ paused }) => paused !== undefined);
  const switches = [
    column<ProviderState>(t.now.limit, (row) => row.limitPerSecond ?? row.configuredPerSecond ?? t.now.noLimit, true),
    column<ProviderState>(t.now.state, ({ paused, pause }) => <RunState isPaused={paused} pause={pause} />),
  ];
  const actions = {
    title: <span class="sr-only">{t.order.actions}</span>,
    cell: (row: ProviderState) => <ProviderActions provider={row} onChange={onChange} />,
  };
  return (
    <Panel title={t.now.providersTitle}>
      <DataTable
        caption={t.now.providersTitle}
        empty={t.now.noProviders}
        rows={providers}
        rowKey={({ name }) => name}
        columns={[
          column<ProviderState>(t.now.provider, ({ name }) => (
            <a href={formatRoute('orders', { provider: name })}>{name}</a>
          )),
          column<ProviderState>(t.now.breaker, ({ breaker }) => (
            <Badge tone={TONES[breaker]}>{nameOf(t.now.breakers, breaker)}</Badge>
          )),
          ...(canPause ? switches : []),
          ...(canPause && mayOperate ? [actions] : []),
        ]}
      />
    </Panel>
  );
}
