import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type ParkedTimeout, type TimeoutRef } from '../api/attention-contract';
import { formatCount } from '../format/format-count';
import { usePoll } from '../poll/use-poll';
import { formatRoute } from '../route/route';
import { useApp, useMay } from '../session/app-context';
import { Loaded } from '../ui/loaded';
import { Pager } from '../ui/pager';
import { Panel } from '../ui/panel';
import { keyOf } from './key-of';
import { ParkedDialog } from './parked-dialog';
import { ParkedTable } from './parked-table';

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
  const filter = { kind: page['kind'], reason: page['reason'] };
  const next = (last: TimeoutRef | undefined): string =>
    formatRoute('parked', { ...filter, afterKind: last?.kind, afterKey: last?.key });
  return (
    <Loaded poll={poll}>
      {(timeouts) => (
        <Panel
          title={t.attention.parked.list}
          aside={<ChosenActions timeouts={timeouts.filter((one) => chosen.has(keyOf(one)))} onDone={refresh} />}
        >
          <ParkedTable timeouts={timeouts} chosen={chosen} onChoose={choose} />
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

function ChosenActions({
  timeouts,
  onDone,
}: {
  timeouts: readonly ParkedTimeout[];
  onDone: () => void;
}): JSX.Element | null {
  const { t, locale, showDialog } = useApp();
  const mayOperate = useMay('operate');
  const texts = t.attention.parked;
  if (!mayOperate) return null;
  const open = (action: 'replay' | 'discard'): void =>
    showDialog(<ParkedDialog action={action} choice={{ timeouts }} onDone={onDone} />);
  return (
    <span class="buttons">
      <span class="muted number">{texts.chosen(formatCount(timeouts.length, locale))}</span>
      <button type="button" class="small" disabled={timeouts.length === 0} onClick={() => open('replay')}>
        {texts.replay}
      </button>
      <button type="button" class="small danger-quiet" disabled={timeouts.length === 0} onClick={() => open('discard')}>
        {texts.discard}
      </button>
    </span>
  );
}
