import { type DataSource, type EntityManager } from 'typeorm';
import { type Inventory, type StockDemand } from '../../inventory';
import { type PaymentProviders } from '../../payments';
import { type TimeoutScheduler } from '../../timeouts';
import { type EventReporting } from '../listeners/order-audience';
import { draftAttempt } from '../pay/attempt-draft';
import { type PlaceRejection, type PlaceResult } from './new-order';
import { type OrderDraft, placedOrder } from './order-draft';
import { type OrderPolicies } from '../order-policies';
import { deadlineTimeouts, earlyMoneyTimeout } from '../order-timeouts';
import { RefuseAtSight } from './refuse-at-sight';
import { ExpectedRollback, retryConflicts, runTransaction, type Transaction } from '../../database';
import { reserveInTransaction } from './reserve-in-transaction';
import { type InsertedRow, type Insertion, InsertOrders } from '../sql/insert-orders';
import { refuseProvider } from './refuse-provider';
import { ReadViews, toView } from '../sql/read-views';
import { stockRejections } from './stock-rejections';

/** Rolls back the transaction, which is then retried without these orders. */
class Refusal extends ExpectedRollback {
  constructor(readonly rejections: ReadonlyMap<string, PlaceRejection>) {
    super('some orders cannot be placed');
  }
}

/** The dependencies of placing orders. */
export interface PlaceDependencies {
  readonly dataSource: DataSource;
  readonly schema: string;
  readonly scheduler: TimeoutScheduler;
  readonly inventory: Inventory;
  readonly policies: OrderPolicies;
  readonly providers: Pick<PaymentProviders, 'get' | 'names'>;
  readonly reporting: EventReporting;
}

/** How to run the transaction. */
interface PlaceMode {
  /** The transaction to use. */
  readonly tx?: Transaction | undefined;
  /** A single try, which waits at most this long for a lock, milliseconds. @default tries for two seconds */
  readonly lockLimitMs?: number;
}

/** Places drafts with distinct ids and idempotency keys in one transaction. */
export class PlaceDrafts {
  private readonly insert: InsertOrders;
  private readonly views: ReadViews;
  private readonly atSight: RefuseAtSight;

  constructor(private readonly deps: PlaceDependencies) {
    this.insert = new InsertOrders(deps.schema, deps.reporting, deps.providers);
    this.atSight = new RefuseAtSight(deps, deps.inventory, this.insert);
    this.views = new ReadViews(deps.schema);
  }

  /** Returns the results by id. If stock is insufficient for all, earlier orders are served first. */
  async execute(drafts: readonly OrderDraft[], mode: PlaceMode): Promise<Map<string, PlaceResult>> {
    const rejections = new Map([...this.outOfRange(drafts), ...this.withoutProvider(drafts)]);
    const candidates = drafts.filter(({ id }) => !rejections.has(id));
    for (const [id, rejection] of await this.atSight.execute(mode.tx, candidates)) rejections.set(id, rejection);
    const placed = await this.placeFitting(candidates, rejections, mode);
    this.atSight.note(rejections);
    return new Map(drafts.map(({ id }) => [id, placed.get(id) ?? toRejected(id, rejections)]));
  }

  /** Every round drops at least one order, so this ends. */
  private async placeFitting(
    drafts: readonly OrderDraft[],
    rejections: Map<string, PlaceRejection>,
    { tx: caller, lockLimitMs }: PlaceMode,
  ): Promise<Map<string, PlaceResult>> {
    for (;;) {
      const candidates = drafts.filter((draft) => !rejections.has(draft.id));
      if (candidates.length === 0) return new Map();
      const insertion = this.insert.prepare(candidates);
      const place = (tx: EntityManager): Promise<Map<string, PlaceResult>> => this.placeAll(tx, candidates, insertion);
      const once = (): Promise<Map<string, PlaceResult>> => this.placeOnce(candidates, place, lockLimitMs);
      try {
        if (caller) return await runTransaction(this.deps, caller, place);
        return await (lockLimitMs === undefined ? retryConflicts(once) : once());
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        for (const [id, rejection] of error.rejections) rejections.set(id, rejection);
      }
    }
  }

  private placeOnce<T>(
    drafts: readonly OrderDraft[],
    place: (tx: EntityManager) => Promise<T>,
    lockLimitMs: number | undefined,
  ): Promise<T> {
    const skus = drafts.flatMap(({ lines }) => lines.map(({ sku }) => sku));
    return reserveInTransaction({ ...this.deps, skus, lockLimitMs }, place);
  }

  /** Lock order: order rows, timeouts, then SKUs. */
  private async placeAll(
    tx: EntityManager,
    drafts: readonly OrderDraft[],
    insertion: Insertion,
  ): Promise<Map<string, PlaceResult>> {
    const inserted = new Map((await this.insert.execute(tx, insertion)).map((row) => [row.id, row]));
    const placed = drafts.flatMap((draft) => {
      const row = inserted.get(draft.id);
      return row ? [{ draft, row, order: placedOrder(draft, row.expires_at, row.created_at) }] : [];
    });
    refuse(this.refusedAfterInsert(placed));
    // The last one of a key counts: an order whose payment arrived before it need not wait for its deadline.
    const timeouts = placed.flatMap(({ draft, order, row }) => [
      ...deadlineTimeouts(order, order.createdAt, draft.by.traceparent),
      ...earlyMoneyTimeout(order, row.has_money, draft.by.traceparent),
    ]);
    await this.deps.scheduler.schedule(timeouts, { tx });
    await this.insert.tell(
      tx,
      placed.map(({ row }) => row),
    );
    const results = await this.presentResults(
      tx,
      drafts.filter((draft) => !inserted.has(draft.id)),
    );
    for (const { draft, order } of placed) {
      const { attempt, metadata = null } = draft.input;
      const attempts = attempt ? [draftAttempt(order, attempt, order.createdAt)] : [];
      const lineViews = draft.lines.map((line) => ({ ...line, unitAmount: Number(line.unitAmount) }));
      const view = toView(order, lineViews, attempts, metadata, order.createdAt);
      results.set(draft.id, { outcome: 'placed', id: draft.id, order: view });
    }
    // Last, because these goods are locked from here to the commit.
    await this.reserve(
      tx,
      placed.map(({ draft }) => ({ orderId: draft.id, merchantId: draft.merchantId, lines: draft.lines })),
    );
    return results;
  }

  private async reserve(tx: EntityManager, demands: readonly StockDemand[]): Promise<void> {
    const outcome = await this.deps.inventory.reserve(tx, demands);
    if (outcome.type === 'refused') refuse(stockRejections(demands, outcome));
  }

  /** Results of orders that exist: replays or conflicts. */
  private async presentResults(tx: EntityManager, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceResult>> {
    const results = new Map<string, PlaceResult>();
    if (drafts.length === 0) return results;
    const present = new Map((await this.insert.present(tx, drafts)).map((row) => [row.id, row]));
    const rejections = new Map<string, PlaceRejection>();
    for (const { id, fingerprint, input } of drafts) {
      const { order_fingerprint: ofOrder = null, key_fingerprint: ofKey = null } = present.get(id) ?? {};
      const isReused = input.idempotencyKey !== undefined && ofKey !== fingerprint;
      if (isReused) rejections.set(id, { code: 'IDEMPOTENCY_KEY_REUSED' });
      else if (ofOrder !== fingerprint) rejections.set(id, { code: 'ORDER_EXISTS' });
    }
    // Roll back, or the idempotency key of a rejected order would remain.
    refuse(rejections);
    const views = await this.views.execute(
      tx,
      drafts.map((draft) => draft.id),
    );
    for (const [id, { view }] of views) results.set(id, { outcome: 'replayed', id, order: view });
    return results;
  }

  private refusedAfterInsert(placed: readonly { draft: OrderDraft; row: InsertedRow }[]): Map<string, PlaceRejection> {
    const rejections = new Map<string, PlaceRejection>();
    for (const { draft, row } of placed) {
      const windowMs = row.expires_at.getTime() - row.created_at.getTime();
      if (draft.windowMs === undefined && !this.deps.policies.allowsWindow(draft.merchantId, Math.max(windowMs, 0))) {
        rejections.set(draft.id, this.windowRejection(draft));
      } else if (row.attempt_taken) rejections.set(draft.id, { code: 'ATTEMPT_EXISTS' });
    }
    return rejections;
  }

  private outOfRange(drafts: readonly OrderDraft[]): Map<string, PlaceRejection> {
    const isOutside = ({ merchantId, windowMs }: OrderDraft): boolean =>
      windowMs !== undefined && !this.deps.policies.allowsWindow(merchantId, windowMs);
    return new Map(drafts.filter(isOutside).map((draft) => [draft.id, this.windowRejection(draft)]));
  }

  private withoutProvider(drafts: readonly OrderDraft[]): Map<string, PlaceRejection> {
    const rejections = drafts.flatMap(({ id, merchantId, input: { attempt } }) => {
      const isAllowed = !attempt || this.deps.policies.of(merchantId).unknownProviders === 'allow';
      const rejection = isAllowed ? undefined : refuseProvider(attempt, this.deps.providers);
      return rejection ? [[id, rejection] as const] : [];
    });
    return new Map(rejections);
  }

  private windowRejection({ merchantId }: OrderDraft): PlaceRejection {
    const { minPaymentWindowMs: minMs, maxPaymentWindowMs: maxMs } = this.deps.policies.of(merchantId);
    return { code: 'PAYMENT_WINDOW_OUT_OF_RANGE', minMs, maxMs };
  }
}

function refuse(rejections: ReadonlyMap<string, PlaceRejection>): void {
  if (rejections.size > 0) throw new Refusal(rejections);
}

function toRejected(id: string, rejections: ReadonlyMap<string, PlaceRejection>): PlaceResult {
  const rejection = rejections.get(id);
  if (!rejection) throw new Error(`order ${id} was neither placed nor rejected`);
  return { outcome: 'rejected', id, ...rejection };
}
