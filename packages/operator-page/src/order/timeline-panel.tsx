import { type JSX } from 'preact';
import { type TimelineEntry } from '../api/order-contract';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';
import { Panel } from '../ui/panel';
import { Instant } from '../ui/values';

/** What happened to the order, newest first. */
export function TimelinePanel({ timeline }: { timeline: readonly TimelineEntry[] }): JSX.Element {
  const { t } = useApp();
  const newestFirst = [...timeline].sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  return (
    <Panel title={t.order.timeline}>
      {newestFirst.length === 0 && <p class="empty">{t.order.noTimeline}</p>}
      <ol class="timeline">
        {newestFirst.map((entry, index) => (
          <TimelineItem key={`${entry.at} ${entry.what} ${index}`} entry={entry} />
        ))}
      </ol>
    </Panel>
  );
}

function TimelineItem({ entry }: { entry: TimelineEntry }): JSX.Element {
  const { t } = useApp();
  const { at, what, title, cause, actor, details } = entry;
  const by = [cause === null ? '' : nameOf(t.domain.causes, cause), actor === null ? '' : t.order.by(actor)];
  return (
    <li class={`timeline-item timeline-${what}`}>
      <span class="timeline-head">
        <Instant at={at} />
        <span class="timeline-kind">{nameOf(t.order.timelineKinds, what)}</span>
        <strong>{titleOf(title, t.domain.statuses)}</strong>
      </span>
      {by.some((part) => part !== '') && <span class="muted">{by.filter((part) => part !== '').join(' · ')}</span>}
      <Details details={details} />
    </li>
  );
}

/** A transition names statuses; what has no name here stays as the service wrote it. */
function titleOf(title: string, statuses: Readonly<Record<string, string>>): string {
  return title.replace(/\b[A-Z][A-Z_]+\b/g, (word) => nameOf(statuses, word));
}

function Details({ details }: { details: TimelineEntry['details'] }): JSX.Element | null {
  const { t } = useApp();
  if (typeof details === 'string') return <span class="muted">{details}</span>;
  const pairs = Object.entries(details ?? {}).filter(([, value]) => value !== null && value !== '');
  if (pairs.length === 0) return null;
  return (
    <dl class="details" aria-label={t.order.details}>
      {pairs.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
