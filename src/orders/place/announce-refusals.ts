import { type DataSource, type EntityManager } from 'typeorm';
import { GROUP_COMMIT, GroupCommit, isDatabaseUnavailable, ownTransaction } from '../../database';
import { type OrderEventLog } from '../order-event-log';
import { outboxEvent } from '../order-events';

/** An order that was not placed. */
export interface RefusedOrder {
  /** Null: the request has no valid id. */
  readonly orderId: string | null;
  readonly merchantId: string | null;
  /** Code of the refusal, for example `OUT_OF_STOCK`. */
  readonly code: string;
  /** A sentence for people. */
  readonly message: string;
  /** Id of the message that carried the order, if it had one. */
  readonly commandId: string | null;
  readonly traceparent: string | undefined;
}

/**
 * Sends `order.refused`, for shops that send their orders as messages. Nothing of a refused order is written, so the event
 * has a transaction of its own. In a sale there are many refusals, so they share it.
 */
export class AnnounceRefusals {
  private readonly groups: GroupCommit<RefusedOrder, void>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly events: OrderEventLog,
  ) {
    this.groups = new GroupCommit({
      size: GROUP_COMMIT.size,
      lanes: 1,
      namesOf: () => [],
      runTogether: (refused) => this.write(refused),
      runAlone: async (refused) => void (await this.write([refused])),
      isHopeless: isDatabaseUnavailable,
    });
  }

  /** Resolves once the event is stored. */
  execute(refused: RefusedOrder): Promise<void> {
    return this.groups.run(refused);
  }

  private async write(refused: readonly RefusedOrder[]): Promise<void[]> {
    await ownTransaction(this.dataSource, async (tx) => {
      const now = await nowOf(tx);
      const events = refused.map(({ traceparent, ...body }) => outboxEvent('order.refused', body, now, traceparent));
      await this.events.append(tx, events);
    });
    return refused.map(() => undefined);
  }
}

async function nowOf(tx: EntityManager): Promise<Date> {
  const [row] = await tx.query<[{ now: Date }]>('SELECT now() AS now');
  return row.now;
}
