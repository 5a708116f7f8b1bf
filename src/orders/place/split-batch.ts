import { type OrderDraft } from './order-draft';
import { type PlaceResult } from './new-order';

interface SplitBatch {
  /** The first draft of each id, in the order of the request. */
  readonly firsts: readonly OrderDraft[];
  /** Maps the results of the first drafts to results for all inputs, in order. */
  readonly resultsFor: (resultOf: (id: string) => PlaceResult) => PlaceResult[];
}

/** Pure: removes repetitions within one request, because one statement cannot insert a row and see it. */
export function splitBatch(drafts: readonly OrderDraft[]): SplitBatch {
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
