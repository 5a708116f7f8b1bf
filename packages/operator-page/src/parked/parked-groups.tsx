import { type JSX } from 'preact';
import { type ParkedGroup } from '../api/attention-contract';
import { formatRoute } from '../route/route';
import { useApp, useMay } from '../session/app-context';
import { column, DataTable } from '../ui/data-table';
import { KindName } from '../ui/kind-name';
import { Panel } from '../ui/panel';
import { Count, Instant } from '../ui/values';
import { parkedActionsFor } from './change-parked';
import { useParked } from './use-parked';

interface ParkedGroupsProps {
  readonly groups: readonly ParkedGroup[];
  readonly onChange: () => void;
}

/** Parked timeouts by kind and reason. */
export function ParkedGroups({ groups, onChange }: ParkedGroupsProps): JSX.Element {
  const { t } = useApp();
  const mayOperate = useMay('operate');
  const texts = t.attention.parked;
  const actions = {
    title: <span class="sr-only">{t.order.actions}</span>,
    cell: (group: ParkedGroup) => <GroupActions group={group} onChange={onChange} />,
  };
  return (
    <Panel title={texts.groups} aside={<a href={formatRoute('parked')}>{texts.showAll}</a>}>
      <DataTable
        caption={texts.groups}
        empty={texts.none}
        rows={groups}
        rowKey={({ kind, reason }) => `${kind} ${reason}`}
        columns={[
          column<ParkedGroup>(texts.kind, ({ kind }) => <KindName kind={kind} />),
          column<ParkedGroup>(texts.reason, ({ reason }) => reason || texts.noReason),
          column<ParkedGroup>(texts.count, (group) => <GroupLink group={group} />, true),
          column<ParkedGroup>(texts.oldest, ({ oldestAt }) => <Instant at={oldestAt} />, true),
          ...(mayOperate ? [actions] : []),
        ]}
      />
    </Panel>
  );
}

function GroupLink({ group: { kind, reason, count } }: { group: ParkedGroup }): JSX.Element {
  return (
    <a href={formatRoute('parked', { kind, reason })}>
      <Count value={count} />
    </a>
  );
}

function GroupActions({ group, onChange }: { group: ParkedGroup; onChange: () => void }): JSX.Element {
  const { t } = useApp();
  const open = useParked(onChange);
  return (
    <span class="buttons">
      {parkedActionsFor(group.kind).map((action) => (
        <button
          key={action}
          type="button"
          class={`small ${action === 'discard' ? 'danger-quiet' : ''}`}
          onClick={() => open(action, { group })}
        >
          {t.attention.all[action]}
        </button>
      ))}
    </span>
  );
}
