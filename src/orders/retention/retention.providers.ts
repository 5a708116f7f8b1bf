import { type Provider } from '@nestjs/common';
import { CLOCK, type Clock } from '../../clock';
import { Inventory } from '../../inventory';
import { RESOLVED_TIMEOUTS_OPTIONS, type ResolvedTimeoutsOptions } from '../../timeouts';
import { construct } from '../construct';
import { OrderListeners } from '../listeners/order-listeners';
import { OrderTransaction } from '../order-transaction';
import { ErasePersonalData } from './erase-personal-data';
import { Purge } from './purge';
import { PurgeLoop } from './purge-loop';
import { PurgeOrders } from './purge-orders';
import { idempotencyKeys, PurgeRows, settledMoney } from './purge-rows';
import { type PurgeStep } from './purge-step';
import { resolveRetention, type ResolvedRetentionOptions, type RetentionOptions } from './retention-options';

/** Injection token of ResolvedRetentionOptions. */
export const RESOLVED_RETENTION = Symbol('order-timeout:resolved-retention');

/** The kinds that are not kept forever. */
export function purgeSteps(
  { dataSource, schema }: Pick<ResolvedTimeoutsOptions, 'dataSource' | 'schema'>,
  inventory: Inventory,
  { finishedOrdersMs, idempotencyKeysMs, settledMoneyMs }: ResolvedRetentionOptions,
  listeners: Pick<OrderListeners, 'kinds'>,
): PurgeStep[] {
  return [
    ...(finishedOrdersMs > 0 ? [new PurgeOrders(dataSource, schema, inventory, finishedOrdersMs, listeners)] : []),
    ...(idempotencyKeysMs > 0 ? [new PurgeRows(dataSource, idempotencyKeys(schema), idempotencyKeysMs)] : []),
    ...(settledMoneyMs > 0 ? [new PurgeRows(dataSource, settledMoney(schema), settledMoneyMs)] : []),
  ];
}

/**
 * Providers of the purge and of the erasure of personal data.
 *
 * @param options injection token of an object with `retention`.
 */
export function retentionProviders(options: symbol): Provider[] {
  return [
    {
      provide: RESOLVED_RETENTION,
      inject: [options],
      useFactory: ({ retention }: { retention?: RetentionOptions }) => resolveRetention(retention),
    },
    construct(ErasePersonalData, OrderTransaction, OrderListeners),
    {
      provide: Purge,
      inject: [RESOLVED_TIMEOUTS_OPTIONS, Inventory, RESOLVED_RETENTION, CLOCK, OrderListeners],
      useFactory: (
        base: ResolvedTimeoutsOptions,
        inventory: Inventory,
        retention: ResolvedRetentionOptions,
        clock: Clock,
        listeners: OrderListeners,
      ) => new Purge(purgeSteps(base, inventory, retention, listeners), clock),
    },
    {
      provide: PurgeLoop,
      inject: [Purge, RESOLVED_TIMEOUTS_OPTIONS, RESOLVED_RETENTION, CLOCK],
      useFactory: (
        purge: Purge,
        { consume, isDrivenByTests }: ResolvedTimeoutsOptions,
        { intervalMs }: ResolvedRetentionOptions,
        clock: Clock,
      ) => new PurgeLoop(purge, { intervalMs, isOn: consume && !isDrivenByTests }, clock),
    },
  ];
}
