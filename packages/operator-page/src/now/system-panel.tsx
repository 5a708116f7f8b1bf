import { type ComponentChildren, type JSX } from 'preact';
import { type Overview } from '../api/contract';
import { formatCount } from '../format/format-count';
import { formatDuration } from '../format/format-time';
import { nameOf } from '../i18n/language';
import { formatRoute } from '../route/route';
import { useApp } from '../session/app-context';
import { Badge, type BadgeTone } from '../ui/badge';
import { Panel } from '../ui/panel';
import { Relative } from '../ui/values';

/** The transport in force, the broker, the database, and the outbox. */
export function SystemPanel({ overview }: { overview: Overview }): JSX.Element {
  const { t } = useApp();
  const { transport, broker, database, outbox } = overview;
  return (
    <Panel title={t.now.systemTitle}>
      <dl class="facts">
        <Fact name={t.now.transport}>
          {transport ? nameOf(t.now.transports, transport.name) : t.now.unknown}
          {transport && (
            <p class="muted">
              {transport.why} · <Relative at={transport.since} />
            </p>
          )}
        </Fact>
        <Fact name={t.now.broker}>
          <State name={broker.state} /> {broker.cause && <span class="muted">{broker.cause}</span>}
        </Fact>
        {broker.messagePath !== undefined && (
          <Fact name={t.now.messagePath}>
            <State name={broker.messagePath} />
          </Fact>
        )}
        <Fact name={t.now.database}>
          <State name={database.state} />
        </Fact>
        <Fact name={t.now.outbox}>{outbox ? <OutboxLine outbox={outbox} /> : t.now.unknown}</Fact>
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const TONES: Readonly<Record<string, BadgeTone>> = {
  up: 'ok',
  ok: 'ok',
  connected: 'ok',
  off: 'muted',
  none: 'muted',
  'not configured': 'muted',
  suspect: 'warn',
  degraded: 'warn',
};

function State({ name }: { name: string }): JSX.Element {
  const { t } = useApp();
  return <Badge tone={TONES[name] ?? 'bad'}>{nameOf(t.now.states, name)}</Badge>;
}

function OutboxLine({ outbox }: { outbox: NonNullable<Overview['outbox']> }): JSX.Element {
  const { t, locale } = useApp();
  const { waiting, oldestSeconds, parked } = outbox;
  const age = formatDuration(oldestSeconds * 1_000, locale);
  return (
    <>
      {waiting === 0 ? t.now.outboxEmpty : t.now.outboxWaiting(formatCount(waiting, locale), age)}
      {parked > 0 && (
        <>
          {' · '}
          <a href={formatRoute('messages')}>{t.now.outboxParked(formatCount(parked, locale))}</a>
        </>
      )}
    </>
  );
}
