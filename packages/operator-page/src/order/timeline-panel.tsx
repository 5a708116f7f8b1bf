import { type JSX } from 'preact';
import { type TimelineEntry } from '../api/order-contract';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';
import { Panel } from '../ui/panel';
import { Instant } from '../ui/values';
import { causeOf, detailsOf, titleOf } from './timeline-text';

/** What happened to the order, newest first. @param timeline oldest first */
export function TimelinePanel({ timeline }: { timeline: readonly TimelineEntry[] }): JSX.Element {
  const { t } = useApp();
  const newestFirst = timeline.toReversed();
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
  const { t, locale } = useApp();
  const { at, what, cause, actor, details } = entry;
  const by = [cause === null ? '' : causeOf(cause, t), actor === null ? '' : t.order.by(actor)];
  const pairs = detailsOf(entry, t, locale);
  return (
    <li class={`timeline-item timeline-${what}`}>
      <span class="timeline-head">
        <Instant at={at} />
        <span class="timeline-kind">{nameOf(t.order.timelineKinds, what)}</span>
        <strong>{titleOf(entry, t)}</strong>
      </span>
      {by.some((part) => part !== '') && <span class="muted">{by.filter((part) => part !== '').join(' · ')}</span>}
      {typeof details['reason'] === 'string' && <q>{details['reason']}</q>}
      {pairs.length > 0 && (
        <dl class="details">
          {pairs.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}
