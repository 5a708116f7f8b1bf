import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type ParkedTimeout, type TimeoutRef } from '../api/attention-contract';
import { usePoll } from '../poll/use-poll';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { ChosenButtons } from '../ui/chosen-buttons';
import { Loaded } from '../ui/loaded';
import { Pager } from '../ui/pager';
import { Panel } from '../ui/panel';
import { type ParkedAction, parkedActionsFor } from './change-parked';
import { keyOf, ParkedTable } from './parked-table';
import { useParked } from './use-parked';

interface ParkedListProps {
  readonly query: URLSearchParams;
  readonly onChange: () => void;
}

const INTERVAL_MS = 10_000;
const PAGE_SIZE = 50;

/** Parked timeouts one by one, some of which can be chosen. */
export function ParkedList({ query, onChange }: ParkedListProps): JSX.Element {
  const { api, t } = useApp();
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const names = ['kind', 'reason', 'afterKind', 'afterKey'] as const;
  const page = Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined]));
  const poll = usePoll(
    (signal) => api.get<ParkedTimeout[]>('parked-timeouts', { ...page, limit: PAGE_SIZE }, signal),
    INTERVAL_MS,
    [query.toString()],
  );
  const refresh = (): void => {
    choose(new Set());
    poll.refresh();
    onChange();
  };
  const open = useParked(refresh);
  const chosenOf = (timeouts: readonly ParkedTimeout[]): ParkedTimeout[] =>
    timeouts.filter((one) => chosen.has(keyOf(one)));
  const filter = { kind: page['kind'], reason: page['reason'] };
  const next = (last: TimeoutRef | undefined): string =>
    formatRoute('parked', { ...filter, afterKind: last?.kind, afterKey: last?.key });
  return (
    <Loaded poll={poll}>
      {(timeouts) => (
        <Panel
          title={t.attention.parked.list}
          aside={
            <ChosenButtons
              count={chosenOf(timeouts).length}
              actions={actionsForAll(chosenOf(timeouts))}
              role="operate"
              onStart={(action) => open(action, { timeouts: chosenOf(timeouts) })}
            />
          }
        >
          <ParkedTable timeouts={timeouts} choice={{ chosen, onChoose: choose }} />
          <Pager
            first={
              page['afterKey'] ? { label: t.attention.parked.first, href: formatRoute('parked', filter) } : undefined
            }
            next={
              timeouts.length < PAGE_SIZE ? undefined : { label: t.attention.parked.next, href: next(timeouts.at(-1)) }
            }
          />
        </Panel>
      )}
    </Loaded>
  );
}

/** What can be done with each of them. */
function actionsForAll(timeouts: readonly ParkedTimeout[]): ParkedAction[] {
  const [first, ...others] = [...new Set(timeouts.map(({ kind }) => kind))].map(parkedActionsFor);
  return (first ?? parkedActionsFor('')).filter((action) => others.every((actions) => actions.includes(action)));
}
