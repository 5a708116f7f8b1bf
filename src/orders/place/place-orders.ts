import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Inventory, type StockDemand, selectUnfit, type ReserveOutcome, type UnfitDemand } from '../../inventory';
import { PaymentProviders } from '../../payments';
import { TimeoutScheduler } from '../../timeouts';
import {
  Database,
  ExpectedRollback,
  GROUP_COMMIT,
  GroupCommit,
  isDatabaseUnavailable,
  retryConflicts,
  type Transaction,
  joinTransaction,
  onOwnConnection,
  STATEMENT_MS,
  isLockTimeout,
  lockPatienceOf,
} from '../../database';
import { checkNewOrders } from '../input/check-input';
import { draftAttempt } from '../model/money';
import { toView } from '../model/order';
import { OrderPolicies } from '../model/order-policies';
import {
  type CheckedOrder,
  type NewOrder,
  type PlaceRejection,
  type PlaceResult,
  refuseProvider,
} from '../model/new-order';
import {
  placedOrder,
  namesOf,
  draftOrder,
  type OrderDraft,
  type InsertedRow,
  type Insertion,
  InsertOrders,
} from './insert-orders';
import { deadlineTimeouts, earlyMoneyTimeout } from '../model/order-timeouts';
import { type ActionContext, type ActionOptions, contextOf } from '../model/transition';
import { readViews } from '../sql/order-rows';

/**
 * Places orders. Order, lines, stock, deadline, reminders, first attempt, history, and idempotency key are written in
 * one transaction. A repeated request changes nothing and returns the current order.
 */
@Injectable()
export class PlaceOrders {
  private readonly singles: GroupCommit<OrderDraft, PlaceResult>;
  private readonly atSight: RefuseAtSight;

  constructor(
    private readonly database: Database,
    private readonly scheduler: TimeoutScheduler,
    private readonly inventory: Inventory,
    private readonly policies: OrderPolicies,
    private readonly providers: PaymentProviders,
    private readonly insert: InsertOrders,
  ) {
    this.atSight = new RefuseAtSight(database, inventory, insert);
    this.singles = new GroupCommit({
      size: GROUP_COMMIT.size,
      lanes: GROUP_COMMIT.lanes,
      namesOf,
      runTogether: (drafts) => this.placeTogether(drafts),
      runAlone: async (draft) => resultIn(await this.placeDrafts([draft], {}), draft.id),
      isHopeless: isDatabaseUnavailable,
    });
  }

  /**
   * Returns one result per input, in order. If stock is insufficient for all, earlier orders are served first. With
   * `tx`, everything happens in that transaction and disappears if it is rolled back. A rejection is a
   * result, not an error; throw to roll back because of it. Without `tx`, concurrent single orders of different
   * callers share a transaction, and their results do not depend on each other.
   *
   * @throws InvalidOrderError if an order is invalid.
   */
  async execute(inputs: readonly NewOrder[], options?: ActionOptions): Promise<PlaceResult[]> {
    checkNewOrders(inputs);
    return this.executeChecked(inputs, options);
  }

  /** The same for orders that a door has checked. */
  async executeChecked(orders: readonly CheckedOrder[], { by, tx }: ActionOptions = {}): Promise<PlaceResult[]> {
    const [only] = orders;
    if (only && orders.length === 1 && !tx) return [await this.placeChecked(only, by)];
    const drafts = orders.map((order) => this.draft(order, by));
    const { firsts, resultsFor } = splitBatch(drafts);
    const results = await this.placeDrafts(firsts, { tx });
    return resultsFor((id) => resultIn(results, id));
  }

  /** Places an order that a door has checked, with those of concurrent callers. */
  placeChecked(order: CheckedOrder, by?: ActionContext): Promise<PlaceResult> {
    return this.singles.run(this.draft(order, by));
  }

  private draft(input: CheckedOrder, by: ActionContext | undefined): OrderDraft {
    const { policies, providers } = this;
    return draftOrder(input, contextOf(by), { policies, providers });
  }

  private async placeTogether(drafts: readonly OrderDraft[]): Promise<PlaceResult[]> {
    const results = await this.placeDrafts(drafts, { lockLimitMs: GROUP_COMMIT.lockLimitMs });
    return drafts.map(({ id }) => resultIn(results, id));
  }

  /**
   * Places drafts with distinct ids and idempotency keys in one transaction, and returns the results by id. If stock is
   * insufficient for all, earlier orders are served first.
   */
  private async placeDrafts(drafts: readonly OrderDraft[], mode: PlaceMode): Promise<Map<string, PlaceResult>> {
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
        if (caller) return await this.database.run(caller, place);
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
    return reserveInTransaction({ database: this.database, inventory: this.inventory, skus, lockLimitMs }, place);
  }

  /** Lock order: names of payments, order rows, timeouts, then SKUs. */
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
    await this.scheduler.schedule(timeouts, { tx });
    const known = drafts.filter((draft) => !inserted.has(draft.id));
    const results = await this.presentResults(tx, known);
    for (const { draft, order } of placed) {
      const { attempt, metadata = null } = draft.input;
      const attempts = attempt ? [draftAttempt(order, attempt, order.createdAt)] : [];
      const lineViews = draft.lines.map((line) => ({ ...line, unitAmount: Number(line.unitAmount) }));
      const view = toView(order, lineViews, attempts, metadata, order.createdAt);
      results.set(draft.id, { outcome: 'placed', id: draft.id, order: view });
    }
    // Last, because these goods are locked from here to the commit.
    const demands = placed.map(({ draft: { id, merchantId, lines } }) => ({ orderId: id, merchantId, lines }));
    const outcome = await this.inventory.reserve(tx, demands);
    if (outcome.type === 'refused') refuse(stockRejections(demands, outcome));
    // A listener may end the order at once, and with it the reservation.
    const rows = placed.map(({ row }) => row);
    await this.insert.tell(tx, rows);
    return results;
  }

  private async presentResults(tx: EntityManager, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceResult>> {
    const results = new Map<string, PlaceResult>();
    if (drafts.length === 0) return results;
    const present = new Map((await this.insert.present(tx, drafts)).map((row) => [row.id, row]));
    const rejections = new Map<string, PlaceRejection>();
    for (const { id, fingerprint, input } of drafts) {
      const { order_fingerprint: ofOrder = null, key_fingerprint: ofKey = null } = present.get(id) ?? {};
      // Of an order that was purged, the key may be left.
      const isReused = input.idempotencyKey !== undefined && (ofKey !== fingerprint || ofOrder === null);
      if (isReused) rejections.set(id, { code: 'IDEMPOTENCY_KEY_REUSED' });
      else if (ofOrder !== fingerprint) rejections.set(id, { code: 'ORDER_EXISTS' });
    }
    // Roll back, or the idempotency key of a rejected order would remain.
    refuse(rejections);
    const ids = drafts.map((draft) => draft.id);
    const views = await readViews(tx, this.database, ids);
    for (const [id, { view }] of views) results.set(id, { outcome: 'replayed', id, order: view });
    return results;
  }

  private refusedAfterInsert(placed: readonly { draft: OrderDraft; row: InsertedRow }[]): Map<string, PlaceRejection> {
    const rejections = new Map<string, PlaceRejection>();
    for (const { draft, row } of placed) {
      const windowMs = row.expires_at.getTime() - row.created_at.getTime();
      if (draft.windowMs === undefined && !this.policies.allowsWindow(draft.merchantId, Math.max(windowMs, 0))) {
        rejections.set(draft.id, this.windowRejection(draft));
      } else if (row.attempt_taken) rejections.set(draft.id, { code: 'ATTEMPT_EXISTS' });
    }
    return rejections;
  }

  private outOfRange(drafts: readonly OrderDraft[]): Map<string, PlaceRejection> {
    const isOutside = ({ merchantId, windowMs }: OrderDraft): boolean =>
      windowMs !== undefined && !this.policies.allowsWindow(merchantId, windowMs);
    return new Map(drafts.filter(isOutside).map((draft) => [draft.id, this.windowRejection(draft)]));
  }

  private withoutProvider(drafts: readonly OrderDraft[]): Map<string, PlaceRejection> {
    const rejections = drafts.flatMap(({ id, merchantId, input: { attempt } }) => {
      const isAllowed = !attempt || this.policies.of(merchantId).unknownProviders === 'allow';
      const rejection = isAllowed ? undefined : refuseProvider(attempt, this.providers);
      return rejection ? [[id, rejection] as const] : [];
    });
    return new Map(rejections);
  }

  private windowRejection({ merchantId }: OrderDraft): PlaceRejection {
    const { minPaymentWindowMs: minMs, maxPaymentWindowMs: maxMs } = this.policies.of(merchantId);
    return { code: 'PAYMENT_WINDOW_OUT_OF_RANGE', minMs, maxMs };
  }
}

function resultIn(results: ReadonlyMap<string, PlaceResult>, id: string): PlaceResult {
  const result = results.get(id);
  if (!result) throw new Error(`order ${id} was neither placed nor rejected`);
  return result;
}

interface SplitBatch {
  /** The first draft of each id, in the order of the request. */
  readonly firsts: readonly OrderDraft[];
  /** Maps the results of the first drafts to results for all inputs, in order. */
  readonly resultsFor: (resultOf: (id: string) => PlaceResult) => PlaceResult[];
}

/** Pure: removes repetitions within one request, because one statement cannot insert a row and see it. */
function splitBatch(drafts: readonly OrderDraft[]): SplitBatch {
  const firsts = new Map<string, OrderDraft>();
  const byKey = new Map<string, OrderDraft>();
  const reused = new Set<OrderDraft>();
  for (const draft of drafts) {
    const first = firsts.get(draft.id);
    const key =
      draft.input.idempotencyKey === undefined ? undefined : `${draft.merchantId}\n${draft.input.idempotencyKey}`;
    const holder = key === undefined ? undefined : byKey.get(key);
    if (holder && holder.fingerprint !== draft.fingerprint) reused.add(draft);
    else if (!first) {
      firsts.set(draft.id, draft);
      if (key !== undefined) byKey.set(key, draft);
    }
  }
  return {
    firsts: [...firsts.values()],
    resultsFor: (resultOf) => {
      const results = new Map([...firsts.keys()].map((id) => [id, resultOf(id)]));
      return drafts.map((draft) => resultOfInput(draft, firsts.get(draft.id), reused, results));
    },
  };
}

function resultOfInput(
  draft: OrderDraft,
  first: OrderDraft | undefined,
  reused: ReadonlySet<OrderDraft>,
  results: ReadonlyMap<string, PlaceResult>,
): PlaceResult {
  const { id } = draft;
  const result = results.get(id);
  if (reused.has(draft) || !first || !result) return { outcome: 'rejected', id, code: 'IDEMPOTENCY_KEY_REUSED' };
  if (first === draft) return result;
  if (first.fingerprint !== draft.fingerprint) return { outcome: 'rejected', id, code: 'ORDER_EXISTS' };
  return result.outcome === 'placed' ? { ...result, outcome: 'replayed' } : result;
}

/** Rolls back the transaction, which is then retried without these orders. */
class Refusal extends ExpectedRollback {
  constructor(readonly rejections: ReadonlyMap<string, PlaceRejection>) {
    super('some orders cannot be placed');
  }
}

interface PlaceMode {
  readonly tx?: Transaction | undefined;
  /** A single try, which waits at most this long for a lock, milliseconds. @default tries for two seconds */
  readonly lockLimitMs?: number;
}

function refuse(rejections: ReadonlyMap<string, PlaceRejection>): void {
  if (rejections.size > 0) throw new Refusal(rejections);
}

function toRejected(id: string, rejections: ReadonlyMap<string, PlaceRejection>): PlaceResult {
  const rejection = rejections.get(id);
  if (!rejection) throw new Error(`order ${id} was neither placed nor rejected`);
  return { outcome: 'rejected', id, ...rejection };
}

/** The number of batches that read the stock first after a rejection. Each further rejection starts the count again. */
const LOOKS = 100;

/**
 * Rejects orders that lack stock before anything is written. A rejection under the stock locks rolls back rows in eight
 * tables and leaves them dead: 1.7 KB per order. Reading first costs a round trip, so only the batches after a
 * rejection do it. Reading never accepts an order; that is decided under the locks.
 */
class RefuseAtSight {
  private looksLeft = 0;

  constructor(
    private readonly database: Database,
    private readonly inventory: Inventory,
    private readonly orders: InsertOrders,
  ) {}

  /**
   * Returns the rejected orders. An order whose id or idempotency key exists is never one of them: a replay takes no
   * stock, and a conflict has its own code.
   */
  async execute(caller: Transaction | undefined, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceRejection>> {
    if (this.looksLeft === 0 || drafts.length === 0) return new Map();
    this.looksLeft -= 1;
    if (caller) return joinTransaction(this.database, caller, (tx) => this.look(tx, drafts));
    return onOwnConnection(this.database.dataSource, STATEMENT_MS, ({ manager }) => this.look(manager, drafts));
  }

  /** Makes the next batches read first if any of these rejections is about stock. */
  note(rejections: ReadonlyMap<string, PlaceRejection>): void {
    const isOfStock = ({ code }: PlaceRejection): boolean => code === 'OUT_OF_STOCK' || code === 'UNKNOWN_SKU';
    if ([...rejections.values()].some(isOfStock)) this.looksLeft = LOOKS;
  }

  private async look(manager: EntityManager, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceRejection>> {
    const unfit = await this.unfitOf(manager, drafts);
    // Read after the stock, so that an order that took the last pieces is visible.
    const present = unfit.size === 0 ? new Set() : await this.presentOf(manager, drafts, unfit);
    return new Map([...unfit].filter(([id]) => !present.has(id)));
  }

  private async unfitOf(manager: EntityManager, drafts: readonly OrderDraft[]): Promise<Map<string, PlaceRejection>> {
    const skus = new Set(drafts.flatMap(({ lines }) => lines.map(({ sku }) => sku)));
    const levels = await this.inventory.read(manager, [...skus]);
    const available = new Map(levels.map((level) => [level.sku, level.available]));
    const owners = new Map(levels.flatMap(({ sku, merchantId }) => (merchantId ? [[sku, merchantId] as const] : [])));
    // Checked one by one: an order may be rejected for another reason, and then takes nothing from the next ones.
    const unfit = drafts.flatMap(({ id, merchantId, lines }) =>
      selectUnfit([{ orderId: id, merchantId, lines }], available, owners),
    );
    return new Map(unfit.map((demand) => [demand.orderId, stockRejection(demand)]));
  }

  private async presentOf(
    manager: EntityManager,
    drafts: readonly OrderDraft[],
    unfit: ReadonlyMap<string, unknown>,
  ): Promise<ReadonlySet<unknown>> {
    const candidates = drafts.filter(({ id }) => unfit.has(id));
    const rows = await this.orders.present(manager, candidates);
    const isPresent = (row: (typeof rows)[number]): boolean =>
      row.order_fingerprint !== null || row.key_fingerprint !== null;
    return new Set(rows.filter(isPresent).map(({ id }) => id));
  }
}

/** A pause of a transaction on a busy machine, milliseconds. */
const PAUSE_MS = 5_000;

/** What this process computes between two statements, for each line: 4 µs on a quiet machine, and 25 times that. */
const PAUSE_MS_PER_LINE = 0.1;

interface Reservation {
  readonly database: Database;
  readonly inventory: Inventory;
  /** What the transaction reserves, one for each line. */
  readonly skus: readonly string[];
  /** The longest wait for a lock, milliseconds. @default 500 */
  readonly lockLimitMs?: number | undefined;
}

/**
 * Runs one transaction that reserves these SKUs. While a row is known to be locked for long, it asks first, because a
 * transaction that fails at a locked SKU holds the others until its rollback has arrived.
 *
 * @throws 55P03 if a SKU is locked.
 */
async function reserveInTransaction<T>(
  { database, inventory, skus, lockLimitMs }: Reservation,
  work: (tx: EntityManager) => Promise<T>,
): Promise<T> {
  const patience = lockPatienceOf(database.dataSource);
  if (patience.isShort)
    await onOwnConnection(database.dataSource, STATEMENT_MS, ({ manager }) => inventory.assertFree(manager, skus));
  const lockMs = patience.limitMs(lockLimitMs);
  try {
    const idleMs = Math.ceil(PAUSE_MS + skus.length * PAUSE_MS_PER_LINE);
    return await database.transaction(work, { lockMs, idleMs });
  } catch (error) {
    if (isLockTimeout(error)) patience.waitedInVain(lockMs);
    throw error;
  }
}

/** Pure: returns the rejections of the orders that lack stock. If it is insufficient for all, earlier orders are served first. */
function stockRejections(
  demands: readonly StockDemand[],
  { available, owners }: Extract<ReserveOutcome, { type: 'refused' }>,
): Map<string, PlaceRejection> {
  const unfit = selectUnfit(demands, available, owners);
  if (unfit.length === 0) throw new Error('stock was rejected although every order fits');
  return new Map(unfit.map((demand) => [demand.orderId, stockRejection(demand)]));
}

function stockRejection({ unknownSkus, shortages }: UnfitDemand): PlaceRejection {
  return unknownSkus.length > 0 ? { code: 'UNKNOWN_SKU', skus: unknownSkus } : { code: 'OUT_OF_STOCK', shortages };
}
