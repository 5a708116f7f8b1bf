import { type DataSource } from 'typeorm';
import { type DelayTransport } from '../../delay';
import { ownTransaction } from '../../database';
import { UnsentWakeUps } from '../../outbox';
import { type EngineSettings } from './engine-settings';
import { type WakeUpRepublisher } from './wake-up-republisher';

/** What wake-ups are handed to: a name for the log, and where they wait. */
export type Path = Pick<DelayTransport, 'name' | 'address'>;

const PAGE = 10_000;
/**
 * The record ends in this number, because earlier builds can have several work queues per kind. Without the ending, every
 * upgrade would publish all pending wake-ups again. Only an upgrade from several queues needs that.
 */
const WORK_QUEUES_PER_KIND = 1;

/**
 * Records in the database what the pending wake-ups were handed to, and has them published again when that changes: the
 * transport, prefix, ladder, or type of queue. The first of several instances does so, and the others find it done.
 */
export class PathRecord {
  private readonly unsent: UnsentWakeUps;

  constructor(
    private readonly dataSource: DataSource,
    private readonly settings: EngineSettings,
    private readonly republication: WakeUpRepublisher,
    schema: string,
  ) {
    this.unsent = new UnsentWakeUps(schema);
  }

  /** Records the path. Returns true when what is pending is to be published again. */
  record(path: Path): Promise<boolean> {
    return ownTransaction(this.dataSource, async (tx) => {
      const value = `${path.address}/${WORK_QUEUES_PER_KIND}`;
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
   * Deletes a page of the wake-ups in the outbox: without a transport nobody publishes them, and they would pile up.
   * Returns true when there may be more.
   */
  async dropPage(): Promise<boolean> {
    return (await this.unsent.deletePage(this.dataSource, PAGE)) === PAGE;
  }
}
