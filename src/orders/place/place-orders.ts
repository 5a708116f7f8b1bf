import { Injectable } from '@nestjs/common';
import { type EntityManager } from 'typeorm';
import { Database, GROUP_COMMIT, GroupCommit, isDatabaseUnavailable } from '../../database';
import { PaymentProviders } from '../../payments';
import { checkNewOrders } from '../input/check-input';
import { type ActionOptions, contextOf, outboxEvent } from '../model/transition';
import { OrderEventLog } from '../listeners/order-listeners';
import { type NewOrder, type PlaceResult, draftOrder, namesOf, type OrderDraft } from '../model/new-order';
import { OrderPolicies } from '../model/order-policies';
import { PlaceDrafts } from './place-drafts';

/**
 * Places orders. Order, lines, stock, deadline, reminders, first attempt, history, and idempotency key are written in
 * one transaction. A repeated request changes nothing and returns the current order.
 */
@Injectable()
export class PlaceOrders {
  private readonly singles: GroupCommit<OrderDraft, PlaceResult>;

  constructor(
    private readonly drafts: PlaceDrafts,
    private readonly policies: OrderPolicies,
    private readonly providers: PaymentProviders,
  ) {
    this.singles = new GroupCommit({
      size: GROUP_COMMIT.size,
      lanes: GROUP_COMMIT.lanes,
      namesOf,
      runTogether: (drafts) => this.place(drafts, { lockLimitMs: GROUP_COMMIT.lockLimitMs }),
      runAlone: async (draft) => resultIn(await this.drafts.execute([draft], {}), draft.id),
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
  async execute(inputs: readonly NewOrder[], { by, tx }: ActionOptions = {}): Promise<PlaceResult[]> {
    checkNewOrders(inputs);
    const context = contextOf(by);
    const { policies, providers } = this;
    const drafts = inputs.map((input) => draftOrder(input, context, { policies, providers }));
    const [only] = drafts;
    if (only && drafts.length === 1 && !tx) return [await this.singles.run(only)];
    const { firsts, resultsFor } = splitBatch(drafts);
    const results = await this.drafts.execute(firsts, { tx });
    return resultsFor((id) => resultIn(results, id));
  }

  private async place(drafts: readonly OrderDraft[], mode: { lockLimitMs?: number }): Promise<PlaceResult[]> {
    const results = await this.drafts.execute(drafts, mode);
    return drafts.map(({ id }) => resultIn(results, id));
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
