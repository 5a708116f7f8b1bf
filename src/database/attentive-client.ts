import { Client, type ClientConfig } from 'pg';

/** What pg calls an answer that did not come within `query_timeout`. */
const NO_ANSWER = 'Query read timeout';

/** Every open client of the process, by server. */
const clients = new Map<string, Set<AttentiveClient>>();
/** Counts questions, so that it can be told which came first. */
let questions = 0;

/**
 * A client that survives its server. pg ends the process by an 'error' event that nobody listens to, and TypeORM
 * listens only while a query runner has the client: PostgreSQL that is killed right after a release would take us along.
 * And a connection whose other end is gone without a word is closed at the first answer that does not come, as the pool
 * would hand it out again and again; so are those beside it that lie idle and have not been heard of since, or each of
 * them would cost somebody the same wait.
 */
export class AttentiveClient extends Client {
  private open = 0;
  private heardAt = 0;

  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    this.once('end', () => this.siblings.delete(this));
    this.siblings.add(this);
    const query = this.query.bind(this) as (...given: unknown[]) => unknown;
    this.query = ((...given: unknown[]) => this.watch(query(...given))) as typeof this.query;
  }

  private get siblings(): Set<AttentiveClient> {
    const server = `${this.host}:${this.port}`;
    const known = clients.get(server) ?? new Set();
    clients.set(server, known);
    return known;
  }

  private watch(answer: unknown): unknown {
    if (!(answer instanceof Promise)) return answer;
    const askedAt = ++questions;
    this.open += 1;
    void answer
      .catch((error: unknown) => (error instanceof Error ? error : undefined))
      .then((error) => {
        this.open -= 1;
        if (error instanceof Error && error.message === NO_ANSWER) this.giveUp(askedAt);
        else this.heardAt = questions;
      });
    return answer;
  }

  private giveUp(askedAt: number): void {
    // What was sent after the end says nothing new about the others.
    if (this.connection.stream.destroyed) return;
    this.hangUp();
    for (const client of this.siblings) {
      if (client.open === 0 && client.heardAt < askedAt) client.hangUp();
    }
  }

  /** An error of its own for each: urllib, which comes with alipay-sdk, marks the error of a socket, and only once. */
  private hangUp(): void {
    this.connection.stream.destroy(new Error(NO_ANSWER));
  }
}
