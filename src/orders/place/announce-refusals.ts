import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, GROUP_COMMIT, GroupCommit, isDatabaseUnavailable } from '../../database';
import { OrderEventLog, type RefusedFacts } from '../listeners/order-listeners';
import { outboxEvent } from '../model/transition';

/** An order that was not placed. */
interface RefusedOrder extends RefusedFacts {
  readonly traceparent: string | undefined;
}

/**
 * Sends `order.refused`, for shops that send their orders as messages. Nothing of a refused order is written, so the event
 * has a transaction of its own. In a sale there are many refusals, so they share it.
 */
@Injectable()
export class AnnounceRefusals {
  private readonly groups: GroupCommit<RefusedOrder, void>;

  constructor(
    private readonly database: Database,
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

  execute(refused: RefusedOrder): Promise<void> {
    return this.groups.run(refused);
  }

  private async write(refused: readonly RefusedOrder[]): Promise<void[]> {
    await this.database.transaction(async (tx) => {
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
