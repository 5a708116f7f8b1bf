import { type EntityManager } from 'typeorm';
import { Injectable } from '@nestjs/common';
import { OnOrder, OnOrderInTransaction, type OrderEvent } from '../../src';

/** What listeners of the host have heard in this world, as "order version". At least once each. */
export const delivered = new Set<string>();

/**
 * How often the host's code fails, of 1. For now, what runs in transactions fails, or catches that its statement has failed.
 */
export const host = { failing: 0, refuses: false, spoils: false };

/** A table of the host, which has what the orders have: exactly once each. */
export const HEARD = 'CREATE TABLE sim.heard (order_id text, version int, type text)';

/** Code of the host. At times, it fails, or catches what it should not. */
@Injectable()
export class Listener {
  @OnOrderInTransaction(['paid', 'closed', 'cancelled'])
  async write(events: OrderEvent<'paid' | 'closed' | 'cancelled'>[], tx: EntityManager): Promise<void> {
    const rows = events.map(({ orderId, orderVersion, type }) => [orderId, orderVersion, type] as const);
    await tx.query('INSERT INTO sim.heard SELECT * FROM unnest($1::text[], $2::int[], $3::text[])', [
      rows.map(([id]) => id),
      rows.map(([, version]) => version),
      rows.map(([, , type]) => type),
    ]);
    if (Math.random() < host.failing) await tx.query('SELECT 1 / 0').catch(() => undefined);
    if (host.refuses || Math.random() < host.failing) throw new Error('the host fails');
  }

  /** Often, nothing comes between this and COMMIT. */
  @OnOrderInTransaction('payment_late')
  async spoil(_events: OrderEvent<'payment_late'>[], tx: EntityManager): Promise<void> {
    if (host.spoils) await tx.query('SELECT 1 / 0').catch(() => undefined);
  }

  /** Not of what is paid: then nothing comes between what the other one spoils and COMMIT. */
  @OnOrder(['closed', 'cancelled'], { name: 'listener' })
  hear({ orderId, orderVersion }: OrderEvent<'closed' | 'cancelled'>): void {
    if (Math.random() < host.failing) throw new Error('the host fails');
    delivered.add(`${orderId} ${orderVersion}`);
  }
}
