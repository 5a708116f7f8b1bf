import { Client, type ClientConfig } from 'pg';

/** What pg calls an answer that did not come within `query_timeout`. */
const NO_ANSWER = 'Query read timeout';

/**
 * A client that survives its server. pg ends the process by an 'error' event that nobody listens to, and TypeORM
 * listens only while a query runner has the client: PostgreSQL that is killed right after a release would take us along.
 * And a connection whose other end is gone without a word is closed at the first answer that does not come, as the pool
 * would hand it out again and again.
 */
export class AttentiveClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
    const query = this.query.bind(this) as (...given: unknown[]) => unknown;
    this.query = ((...given: unknown[]) => this.watch(query(...given))) as typeof this.query;
  }

  private watch(answer: unknown): unknown {
    if (answer instanceof Promise) {
      answer.catch((error: unknown) => {
        if (error instanceof Error && error.message === NO_ANSWER) this.connection.stream.destroy(error);
      });
    }
    return answer;
  }
}
