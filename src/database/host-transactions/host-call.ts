import { interceptQueries } from '../intercept-queries';
import { explainAborted, explainControl, explainFailure, hasEnded, isAborted, saysEnded } from './explain-failure';
import { guarded, openCursor } from './guarded';
import { type Base, type HostBase } from './host-base';
import { assertNotEnding, ENDING } from './host-connection';
import { isWithinCall } from './one-at-a-time';
import { UnusableTransactionError } from './unusable-transaction-error';

const OF_SAVEPOINT = /^\s*(SAVEPOINT|RELEASE|ROLLBACK\s+TO)\s+(?:SAVEPOINT\s+)?"?(\w+)/i;

let calls = 0;

/**
 * One call in a host's transaction: all that it writes is committed with the transaction, or nothing. A savepoint undoes it
 * when it fails. A cursor keeps the transaction from being committed meanwhile. Each statement that writes fails where the
 * cursor is not open: after the end of the transaction, where it would commit by itself, and in the next transaction on a
 * pooled connection.
 */
export class HostCall {
  private readonly name = `order_timeout_${++calls}`;
  private readonly host: HostBase;
  private readonly schema: string;
  /** Why nothing more is sent. */
  private refusal: Error | undefined;
  /** The savepoint is gone: rolled back, or released with one of the host around it. */
  private isUndone = false;
  private isReleased = false;
  /** The last failed statement, whose error may have been caught. */
  private failure: unknown;
  /** Those that the host has opened meanwhile. */
  private readonly inner = new Set<string>();
  private unwatch = (): void => undefined;

  constructor(host: HostBase, schema: string) {
    this.host = host;
    this.schema = schema;
  }

  /** @throws UnusableTransactionError if the transaction has ended */
  async open(): Promise<void> {
    this.watch();
    await this.control(`SAVEPOINT ${this.name}`, openCursor(this.name));
  }

  /** Sends a statement of the call, or of a listener. */
  readonly query: Base = async (sql, parameters, structured) => {
    assertNotEnding(sql);
    const [text, values] = guarded(this.schema, this.name, sql, parameters);
    return this.send(text, values, structured);
  };

  /** The cursor last: a COMMIT that comes between the two fails, so it cannot be taken for one that came before. */
  async close(): Promise<void> {
    const release = this.isReleased ? [] : [`RELEASE SAVEPOINT ${this.name}`];
    await this.control(...release, `CLOSE ${this.name}`);
    this.end();
  }

  /** Leaves nothing of the call. Returns the error that the caller gets. */
  async undo(error: unknown): Promise<unknown> {
    this.end();
    // A savepoint that is gone would be an error, which aborts a transaction that goes on.
    if (!this.isUndone && !this.isReleased)
      await this.host.send(`ROLLBACK TO SAVEPOINT ${this.name}`).catch(() => undefined);
    return explainAborted(explainFailure(error, this.schema), this.failure);
  }

  /** What a listener still sends is refused. */
  private end(): void {
    this.unwatch();
    this.refusal ??= new UnusableTransactionError(
      'the call that this transaction belongs to has ended; await each statement in the listener',
    );
  }

  /** Savepoint and cursor, in one round trip where that is possible. */
  private async control(...statements: string[]): Promise<void> {
    try {
      for (const sql of this.host.client ? [statements.join('; ')] : statements) await this.send(sql);
    } catch (error) {
      throw this.noted(explainControl(error));
    }
  }

  private async send(...statement: Parameters<Base>): Promise<unknown> {
    if (this.refusal) throw this.refusal;
    try {
      this.host.assertActive?.();
      return await this.host.send(...statement);
    } catch (error) {
      if (!isAborted(error)) this.failure = error;
      throw this.noted(explainFailure(error, this.schema));
    }
  }

  private noted(error: unknown): unknown {
    if (saysEnded(error)) this.lose(error as Error);
    return error;
  }

  /** The transaction is over, or the part of it that the call was in. */
  private lose(why: Error): void {
    this.refusal ??= why;
    this.isUndone = true;
  }

  /** From the moment when the host sends the end of its transaction, the call sends nothing. */
  private watch(): void {
    const { client, key } = this.host;
    if (!client) return;
    this.unwatch = interceptQueries(client, (send) => (...given) => {
      const sql = textOf(given[0]);
      if (ENDING.test(sql)) this.lose(hasEnded());
      else if (!isWithinCall(key)) this.noteSavepoint(sql);
      return send(...given);
    });
  }

  /** A savepoint of the host, sent beside the call. */
  private noteSavepoint(sql: string): void {
    const [, verb, name = ''] = OF_SAVEPOINT.exec(sql) ?? [];
    if (verb === undefined) return;
    const isInner = this.inner.has(name);
    if (/^SAVEPOINT/i.test(verb)) this.inner.add(name);
    else if (/^RELEASE/i.test(verb)) this.isReleased ||= !isInner;
    // What the call has written since is gone, so all of it must go.
    else if (isInner) this.refusal ??= hasEnded();
    else this.lose(hasEnded());
  }
}

/** Of a statement as TypeORM or `pg` take it. */
function textOf(given: unknown): string {
  const text = typeof given === 'string' ? given : (given as { readonly text?: unknown } | undefined)?.text;
  return typeof text === 'string' ? text : '';
}
