import { type Facts, type RefusalFact } from './facts';

/** Answers to a shop whose request came when the deadline had passed. */
const TOO_LATE = ['ORDER_NOT_PENDING', 'ORDER_NOT_CANCELLABLE'];

/**
 * Refusals that need an explanation. While the service is dead, commands and repeated requests wait, and may come to
 * an order that was due in the meantime; "too late" is the right answer then.
 */
export function unexplained(refusals: readonly RefusalFact[], { wasKilled }: Facts): RefusalFact[] {
  return refusals.filter(({ code }) => !wasKilled || !TOO_LATE.includes(code));
}

/**
 * Orders whose payment was reported before they were there: the provider's notify was quicker than the command or the
 * repeated request that places the order. The money is kept, and counts in the end.
 */
export function paidBeforePlaced({ orders, unmatchedPayments }: Facts): ReadonlySet<string> {
  const reported = new Set(
    unmatchedPayments.filter(({ reason }) => reason === 'unknown-order').map((one) => one.orderId),
  );
  const isPaid = orders.filter(({ plan, stored }) => plan.channel !== 'module' && stored?.status === 'PAID');
  return new Set(isPaid.map(({ plan }) => plan.id).filter((id) => reported.has(id)));
}
