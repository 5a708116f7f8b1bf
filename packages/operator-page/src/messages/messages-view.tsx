import { type JSX } from 'preact';
import { type ParkedMessage, type ParkedOutboxRow } from '../api/attention-contract';
import { usePoll } from '../poll/use-poll';
import { useApp } from '../session/app-context';
import { column, DataTable } from '../ui/data-table';
import { Loaded } from '../ui/loaded';
import { Panel } from '../ui/panel';
import { Count, Instant } from '../ui/values';
import { MessageActions } from './message-actions';

/** Looking into a queue costs the broker more than a row costs the database. */
const INTERVAL_MS = 20_000;
const LIMIT = 100;

/** Messages that nobody could handle, and rows of the outbox that the broker refused. */
export function MessagesView(): JSX.Element {
  const { api, t } = useApp();
  const queue = usePoll(
    (signal) => api.get<ParkedMessage[] | null>('messages/parked', { limit: LIMIT }, signal),
    INTERVAL_MS,
    [],
  );
  const outbox = usePoll((signal) => api.get<ParkedOutboxRow[]>('outbox/parked', {}, signal), INTERVAL_MS, []);
  const texts = t.attention.messages;
  return (
    <>
      <Loaded poll={queue}>
        {(messages) => (
          <Panel
            title={texts.queue}
            aside={messages !== null && messages.length > 0 && <MessageActions onChange={queue.refresh} />}
          >
            <p class="muted">{messages === null ? texts.noBroker : texts.queueHint}</p>
            {messages !== null && <MessagesTable messages={messages} />}
          </Panel>
        )}
      </Loaded>
      <Loaded poll={outbox}>
        {(rows) => (
          <Panel title={texts.outbox}>
            <p class="muted">{texts.outboxHint}</p>
            <OutboxTable rows={rows} />
          </Panel>
        )}
      </Loaded>
    </>
  );
}

function MessagesTable({ messages }: { messages: readonly ParkedMessage[] }): JSX.Element {
  const { t } = useApp();
  const texts = t.attention.messages;
  return (
    <DataTable
      caption={texts.queue}
      empty={texts.none}
      rows={messages.map((message, index) => ({ ...message, index }))}
      rowKey={({ index }) => String(index)}
      columns={[
        column<ParkedMessage>(texts.id, ({ id }) => <span class="id">{id === '' ? '–' : id}</span>),
        column<ParkedMessage>(texts.sentTo, ({ routingKey }) => routingKey),
        column<ParkedMessage>(texts.code, ({ code }) => (code === null ? '–' : <code>{code}</code>)),
        column<ParkedMessage>(texts.reason, ({ reason }) => reason ?? '–'),
      ]}
    />
  );
}

function OutboxTable({ rows }: { rows: readonly ParkedOutboxRow[] }): JSX.Element {
  const { t } = useApp();
  const texts = t.attention.messages;
  return (
    <DataTable
      caption={texts.outbox}
      empty={texts.outboxNone}
      rows={rows}
      rowKey={({ id }) => id}
      columns={[
        column<ParkedOutboxRow>(texts.id, ({ id }) => <span class="id">{id}</span>),
        column<ParkedOutboxRow>(texts.sentTo, ({ routingKey }) => routingKey),
        column<ParkedOutboxRow>(texts.reason, ({ reason }) => reason),
        column<ParkedOutboxRow>(texts.bytes, ({ bytes }) => <Count value={bytes} />, true),
        column<ParkedOutboxRow>(texts.since, ({ createdAt }) => <Instant at={createdAt} />, true),
      ]}
    />
  );
}
