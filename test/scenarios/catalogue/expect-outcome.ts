/**
 * `booked` counts as `paid`: another session held the stock, so the order becomes PAID a moment later. How it ends is checked.
 *
 * @throws Error unless the service has answered a report so.
 */
export async function expectOutcome(answer: Promise<string>, wanted: string): Promise<void> {
  const outcome = await answer;
  const isWanted = outcome === wanted || (wanted === 'paid' && outcome === 'booked');
  if (!isWanted) throw new Error(`the service called the report "${outcome}", not "${wanted}"`);
}
