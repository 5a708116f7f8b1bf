import { type Cast } from '../playing/cast';

/** @throws Error when the order becomes PAID by its deadline, and not by what was told before. */
export async function untilPaidInTime(cast: Cast): Promise<void> {
  await cast.untilStatus('PAID');
  const { placedAt, plan } = cast.order;
  if (Date.now() >= placedAt + plan.windowMs) throw new Error('paid by the deadline, not by what was told');
}
