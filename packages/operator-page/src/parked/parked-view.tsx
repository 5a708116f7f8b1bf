import { type JSX } from 'preact';
import { type ParkedGroup } from '../api/attention-contract';
import { usePoll } from '../poll/use-poll';
import { useApp } from '../session/app-context';
import { Loaded } from '../ui/loaded';
import { ParkedGroups } from './parked-groups';
import { ParkedList } from './parked-list';

const INTERVAL_MS = 10_000;

/** Timeouts that were set aside, by reason and one by one. */
export function ParkedView({ query }: { query: URLSearchParams }): JSX.Element {
  const { api } = useApp();
  const groups = usePoll((signal) => api.get<ParkedGroup[]>('parked-timeouts/groups', {}, signal), INTERVAL_MS, []);
  return (
    <>
      <Loaded poll={groups}>{(found) => <ParkedGroups groups={found} onChange={groups.refresh} />}</Loaded>
      <ParkedList key={query.toString()} query={query} onChange={groups.refresh} />
    </>
  );
}
