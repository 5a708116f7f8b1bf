import { type Clock } from '../../clock';
import { type ParkedMessage, ParkedMessages, type RabbitClient } from '../../rabbit';
import { SharedAnswer } from './shared-answer';

/** Each count opens a connection. */
const COUNT_GOOD_MS = 15_000;

/** A parked message without its body, which may hold personal data. */
export type ParkedMessageView = Omit<ParkedMessage, 'body'>;

/** The parked messages on the broker. */
export class BrokerMessages {
  private readonly counts: SharedAnswer<number | null>;

  constructor(
    private readonly client: RabbitClient,
    clock: Clock,
  ) {
    this.counts = new SharedAnswer(clock, COUNT_GOOD_MS);
  }

  /** Null: there is no broker, or it does not answer. */
  async count(): Promise<number | null> {
    if (!this.isUp) return null;
    return this.counts.get('', () => this.withMessages((messages) => messages.size())).catch(() => null);
  }

  /** Reads them without taking them. Null: there is no broker, or it does not answer. */
  async list(limit: number): Promise<ParkedMessageView[] | null> {
    const found = await this.withMessages((messages) => messages.list(limit));
    return found && found.map(({ id, routingKey, code, reason }) => ({ id, routingKey, code, reason }));
  }

  /** Sends commands again, or deletes messages. Returns how many. Null as in `list`. */
  change(action: 'replay' | 'discard', ids: readonly string[]): Promise<number | null> {
    return this.withMessages((messages) => (action === 'replay' ? messages.retry(ids) : messages.discard(ids)));
  }

  private get isUp(): boolean {
    return this.client.isConfigured && this.client.isUp;
  }

  private async withMessages<T>(work: (messages: ParkedMessages) => Promise<T>): Promise<T | null> {
    if (!this.isUp) return null;
    const connection = await this.client.temporaryConnection();
    try {
      return await work(new ParkedMessages(connection, this.client.names));
    } finally {
      await connection.close().catch(() => undefined);
    }
  }
}
