import { type DrivenOrder } from '../buyers/planned-order';

/** What makes an order wait for a person. */
export type Trouble = Pick<DrivenOrder, 'channel' | 'windowMs' | 'payment'> & {
  readonly name: string;
  readonly amount?: number;
};

const TROUBLES: readonly ((amount: number) => Trouble)[] = [
  // Its timeout is parked at the deadline, and the money is kept.
  (amount) => ({
    ...{ name: 'pays-half', channel: 'http', windowMs: 12_000 },
    payment: { paysAtMs: 4_000, partialAmount: Math.ceil(amount / 2), notify: 'sent', faults: [] },
  }),
  // The service could not close a payment that it did not know: the money is kept.
  () => ({
    ...{ name: 'pays-when-closed', channel: 'http', windowMs: 12_000 },
    payment: { paysAtMs: 16_000, notify: 'sent', isUnannounced: true, faults: [] },
  }),
  // Its message is parked on the broker. Without one, the request is refused.
  () => ({ name: 'negative-amount', channel: 'amqp', windowMs: 12_000, amount: -1 }),
];

/** By turns. @param amount of the order, minor units */
export function troubleOf(turn: number, amount: number): Trouble {
  const plan = TROUBLES[turn % TROUBLES.length];
  if (!plan) throw new RangeError(`turn ${turn} is not a whole number`);
  return plan(amount);
}

/** The service leaves this money to a person. By default it refunds it, or revives the order. */
export const PERSON_DECIDES = { LATE_PAYMENT: 'keep', PARTIAL_PAYMENT: 'park' };
