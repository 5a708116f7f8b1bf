import { type EntityManager, type QueryRunner } from 'typeorm';
import { cancel, hangUp, interceptQueries, type PooledClient, type Send } from '../../database';

/** Of pg's client, what ends it at once; `end` would wait for what is under way. */
type Client = PooledClient & { on(event: 'error', listener: () => void): unknown };

/** The statements that a handler sends through the transaction it is given. */
export class RunStatements {
  /** Looks at no more statements. */
  readonly release: () => void;
  private refusal: Error | undefined;
  private refused = false;
  private open = 0;
  private since = 0;
  private passedMs = 0;
  private idle: (() => void)[] = [];

  private constructor(
    runner: QueryRunner,
    private readonly client: Client,
  ) {
    this.release = interceptQueries(
      runner,
      (send) =>
        (...given) =>
          this.query(send, given),
    );
  }

  static async of({ queryRunner }: EntityManager): Promise<RunStatements> {
    if (!queryRunner) throw new Error('a transaction of TypeORM has a query runner; this manager has none');
    // Its own client, at hand since the transaction began.
    return new RunStatements(queryRunner, (await queryRunner.connect()) as Client);
  }

  /** How long the handler has waited for the database, milliseconds; that is not its fault. */
  get spentMs(): number {
    return this.passedMs + (this.open > 0 ? performance.now() - this.since : 0);
  }

  /** The handler has sent a statement that was refused. */
  get wasRefused(): boolean {
    return this.refused;
  }

  /** Resolves when no statement is under way. */
  whenIdle(): Promise<void> {
    return this.open === 0 ? Promise.resolve() : new Promise((resolve) => this.idle.push(resolve));
  }

  /** Fails every statement from here on, unsent. */
  refuse(error: Error): void {
    this.refusal = error;
  }

  /** Ends the connection at once. */
  cut(error: Error): void {
    // pg reports the cut by an event, which ends the process without a listener.
    this.client.on('error', () => undefined);
    if (this.open > 0) cancel(this.client);
    hangUp(this.client, error);
  }

  private async query(send: Send, given: unknown[]): Promise<unknown> {
    if (this.refusal) {
      this.refused = true;
      throw this.refusal;
    }
    if (this.open++ === 0) this.since = performance.now();
    try {
      return await send(...given);
    } finally {
      this.open--;
      if (this.open === 0) {
        this.passedMs += performance.now() - this.since;
        for (const resolve of this.idle.splice(0)) resolve();
      }
    }
  }
}
