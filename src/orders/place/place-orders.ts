import { GROUP_COMMIT, GroupCommit, isDatabaseUnavailable } from '../../database';
import { checkNewOrders } from '../input/check-new-order';
import { type NewOrder, type PlaceResult } from './new-order';
import { draftOrder, namesOf, type OrderDraft } from './order-draft';
import { PlaceDrafts, type PlaceDependencies } from './place-drafts';
import { splitBatch } from './split-batch';
import { type ActionOptions } from '../action-options';
import { contextOf } from '../transition-cause';

/**
 * Places orders. Order, lines, stock, deadline, reminders, first attempt, history, and idempotency key are written in
 * one transaction. A repeated request changes nothing and returns the current order.
 */
export class PlaceOrders {
  private readonly drafts: PlaceDrafts;
  private readonly singles: GroupCommit<OrderDraft, PlaceResult>;

  constructor(private readonly deps: PlaceDependencies) {
    this.drafts = new PlaceDrafts(deps);
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
    const drafts = inputs.map((input) => draftOrder(input, context, this.deps));
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
