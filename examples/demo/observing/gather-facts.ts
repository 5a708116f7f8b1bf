import { setTimeout as sleep } from 'node:timers/promises';
import { type ChannelModel, type GetMessage } from 'amqplib';
import { type OrderRecord } from '../../../test/support/checks/facts';
import { type Progress, type Records } from '../../../test/support/checks/records';
import { type LedgerEntry } from 'nestjs-order-timeout-payment-simulator';
import { type SimulatorClient } from '../../../test/support/servers/simulator-client';
import { type DemoPlan } from '../buyers/plan-orders';
import { referenceOf } from '../buyers/planned-order';
import { type Bus } from '../servers/open-stage';
import { type Facts, type LedgerFact, type OrderFact, type RefusalFact } from '../checking/facts';

interface Sources {
  readonly plan: DemoPlan;
  readonly records: Records;
  readonly simulator: SimulatorClient;
  readonly bus: Pick<Bus, 'broker' | 'listener' | 'prefix'> | undefined;
  readonly refusals: readonly RefusalFact[];
  readonly wasKilled: boolean;
  readonly slowness: number;
}

/** Asks everybody who knows something: the database, the provider, the broker and the subscriber. */
export async function gatherFacts(sources: Sources): Promise<Facts> {
  const { plan, records, bus, refusals, wasKilled, slowness } = sources;
  const { outboxRows, pendingTimeouts } = await progressAtRest(records);
  const levels = await records.stock();
  const stored = await records.orderRecords();
  const ledger = await sources.simulator.ledger();
  const planned = new Set(plan.orders.map(({ id }) => id));
  return {
    orders: orderFacts(plan, stored, ledger),
    unplannedOrders: [...stored.keys()].filter((id) => !planned.has(id)),
    stock: levels.map((level) => ({ ...level, initial: plan.stock.get(level.sku) ?? 0 })),
    hasBroker: bus !== undefined,
    events: bus?.listener.facts() ?? [],
    baskets: await records.baskets(),
    outboxRows,
    pendingTimeouts,
    parkedTimeouts: await records.parkedTimeouts(),
    parkedMessages: bus ? await parkedMessages(bus.broker, `${bus.prefix}.parked`) : [],
    unmatchedPayments: await records.unmatchedPayments(),
    money: { ...(await records.money()), ledger },
    refusals,
    wasKilled,
    slowness,
  };
}

const REST_LOOKS = 50;

/** The watches over ended orders ask for messages now and then, which are in the outbox for a moment. */
async function progressAtRest(records: Records): Promise<Progress> {
  for (let looks = 0; looks < REST_LOOKS; looks++) {
    const progress = await records.progress();
    if (progress.outboxRows === 0) return progress;
    await sleep(100);
  }
  return records.progress();
}

function orderFacts(
  plan: DemoPlan,
  stored: ReadonlyMap<string, OrderRecord>,
  entries: readonly LedgerEntry[],
): OrderFact[] {
  const ledger = new Map(entries.map((entry) => [entry.reference, entry]));
  return plan.orders.map((planned) => {
    const row = stored.get(planned.id);
    const entry = ledger.get(referenceOf(planned));
    const books: LedgerFact | undefined = entry && {
      status: entry.status,
      isClosed: entry.closedAt !== null,
      refusedPays: entry.refusedPays,
    };
    return {
      plan: planned,
      history: row?.history ?? [],
      reservations: row?.reservations ?? [],
      ...(row && { stored: row }),
      ...(books && { ledger: books }),
    };
  });
}

/** Takes them off the queue, which is deleted at the end anyway. */
async function parkedMessages(broker: ChannelModel, queue: string): Promise<RefusalFact[]> {
  const channel = await broker.createChannel();
  const found: RefusalFact[] = [];
  for (
    let message = await channel.get(queue, { noAck: true });
    message;
    message = await channel.get(queue, { noAck: true })
  ) {
    const { headers = {} } = message.properties;
    const says = `${message.fields.routingKey}: ${String(headers['x-ot-error-reason'] ?? 'no reason given')}`;
    found.push({ orderId: orderIdOf(message), code: String(headers['x-ot-error-code'] ?? 'UNKNOWN'), says });
  }
  await channel.close();
  return found;
}

/** What is parked may be anything. */
function orderIdOf({ content }: GetMessage): string {
  try {
    const body = JSON.parse(content.toString('utf8')) as { orderId?: string; id?: string } | null;
    return body?.orderId ?? body?.id ?? 'no order';
  } catch {
    return 'no order';
  }
}
