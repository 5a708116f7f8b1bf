import { type DataSource } from 'typeorm';
import { type DelayTransport } from '../../delay';
import { ownQuery, ownTransaction } from '../../database';
import { type EngineSettings } from './engine-settings';
import { type WakeUpRepublisher } from './wake-up-republisher';

/** What wake-ups are handed to: a name for the log, and where they wait. */
export type Path = Pick<DelayTransport, 'name' | 'address'>;

const PAGE = 10_000;

/**
 * Records in the database what the pending wake-ups were handed to, and has them published again when that changes: the
 * transport, prefix, ladder, type of queue or number of partitions. The first of several instances does so, and the others
 * find it done.
 */
export class PathRecord {
  constructor(
    private readonly dataSource: DataSource,
    private readonly settings: EngineSettings,
    private readonly republication: WakeUpRepublisher,
    private readonly deps: { readonly schema: string; readonly partitions: number },
  ) {}

  /** Records the path. Returns true when what is pending is to be published again. */
  record(path: Path): Promise<boolean> {
    return ownTransaction(this.dataSource, async (tx) => {
      const value = `${path.address}/${this.deps.partitions}`;
      const previous = await this.settings.lock(tx, 'message-path');
      const name = await this.settings.read(tx, 'delay-transport');
      if (previous === value && name === path.name) return false;
      // Earlier releases record the name alone; one of them may have run since.
      const isOther = previous === '' ? name !== undefined && name !== path.name : true;
      const isNeeded = isOther && path.name !== 'none';
      const cause = `wake-ups are handed to ${value}, and no longer to ${previous || String(name)}`;
      if (isNeeded) await this.republication.requestIn(tx, { cause, all: name === 'none' });
      await this.settings.write(tx, 'message-path', value);
      await this.settings.write(tx, 'delay-transport', path.name);
      return isNeeded;
    });
  }

  /**
   * Deletes a page of the wake-ups in the outbox: without a transport nobody publishes them, and they would pile up. A million
   * in one statement would take longer than a statement may. Returns true when there may be more.
   */
  async dropPage(): Promise<boolean> {
    const rows = await ownQuery<unknown[]>(
      this.dataSource,
      `WITH page AS (
         SELECT ctid FROM ${this.deps.schema}.outbox WHERE route = 'wake-up' LIMIT ${PAGE} FOR UPDATE SKIP LOCKED),
       gone AS (DELETE FROM ${this.deps.schema}.outbox WHERE ctid = ANY(ARRAY(SELECT ctid FROM page)) RETURNING 1)
       SELECT 1 FROM gone`,
    );
    return rows.length === PAGE;
  }
}
