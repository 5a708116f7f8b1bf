import { type JSX } from 'preact';
import { type ParkedMessage, type ParkedOutboxRow } from '../api/attention-contract';
import { usePoll } from '../poll/use-poll';
import { useApp } from '../session/app-context';
import { column } from '../ui/data-table';
import { Loaded } from '../ui/loaded';
import { Count, Instant } from '../ui/values';
import { MessagesPanel } from './messages-panel';

/** Looking into a queue costs the broker more than a row costs the database. */
const INTERVAL_MS = 20_000;
const LIMIT = 100;

/** Messages that nobody could handle, and rows of the outbox that the broker refused. */
export function MessagesView(): JSX.Element {
  return (
    <>
      <QueuePart />
      <OutboxPart />
    </>
  );
}

function QueuePart(): JSX.Element {
  const { api, t } = useApp();
  const poll = usePoll(
    (signal) => api.get<{ messages: ParkedMessage[] | null }>('messages/parked', { limit: LIMIT }, signal),
    INTERVAL_MS,
    [],
  );
  const texts = t.attention.messages;
  return (
    <Loaded poll={poll}>
      {({ messages }) => (
        <MessagesPanel
          title={texts.queue}
          hint={messages === null ? texts.noBroker : texts.queueHint}
          empty={texts.none}
          rows={messages ?? []}
          columns={[
            column<ParkedMessage>(texts.id, ({ id }) => <span class="id">{id === '' ? '–' : id}</span>),
            column<ParkedMessage>(texts.sentTo, ({ routingKey }) => routingKey),
            column<ParkedMessage>(texts.code, ({ code }) => (code === null ? '–' : <code>{code}</code>)),
            column<ParkedMessage>(texts.reason, ({ reason }) => reason ?? '–'),
          ]}
          path="messages/parked"
          actions={{ replay: t.actions.replayMessages, discard: t.actions.discardMessages }}
          onChange={poll.refresh}
        />
      )}
    </Loaded>
  );
}

function OutboxPart(): JSX.Element {
  const { api, t } = useApp();
  const poll = usePoll(
    (signal) => api.get<ParkedOutboxRow[]>('outbox/parked', { limit: LIMIT }, signal),
    INTERVAL_MS,
    [],
  );
  const texts = t.attention.messages;
  return (
    <Loaded poll={poll}>
      {(rows) => (
        <MessagesPanel
          title={texts.outbox}
          hint={texts.outboxHint}
          empty={texts.outboxNone}
          rows={rows}
          columns={[
            column<ParkedOutboxRow>(texts.id, ({ id }) => <span class="id">{id}</span>),
            column<ParkedOutboxRow>(texts.sentTo, ({ routingKey }) => routingKey),
            column<ParkedOutboxRow>(texts.reason, ({ reason }) => reason),
            column<ParkedOutboxRow>(texts.bytes, ({ bytes }) => <Count value={bytes} />, true),
            column<ParkedOutboxRow>(texts.since, ({ createdAt }) => <Instant at={createdAt} />, true),
          ]}
          path="outbox/parked"
          actions={{ replay: t.actions.replayRows, discard: t.actions.discardRows }}
          onChange={poll.refresh}
        />
      )}
    </Loaded>
  );
}
