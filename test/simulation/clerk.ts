import { type UnmatchedPayment } from '../../src/public/orders';
import { CURRENCY, PRICE } from './habits';
import { type Stage } from './stage';

/** A bank that no instance can ask: what a script imports from its statement of account is all that is known. */
export const WIRE = 'wire';

/** A transfer, as the statement lists it. */
export interface Transfer {
  readonly id: string;
  /** The number of the customer, who writes it on each transfer. */
  readonly reference: string;
  /** For which order it was meant. */
  readonly orderId: string;
  readonly amount: bigint;
  /** Whether a person has wired it back. */
  isReturned: boolean;
  /** For which orders it was imported. */
  readonly toldFor: Set<string>;
  /** Whether the order that it was meant for was paid by it, as the first of its transfers. */
  hasPaid: boolean;
}

/** Imports the statement, line by line. */
export class Clerk {
  constructor(
    private readonly stage: Stage,
    private readonly orders: number,
  ) {}

  async work(): Promise<void> {
    const { stage } = this;
    for (let count = stage.random.between(2, 4); count > 0; count--) {
      await stage.pause(5, 40);
      const transfer = this.receive();
      stage.transfers.push(transfer);
      for (let times = stage.random.pick([3, 1], [1, 2]); times > 0; times--) await this.import(transfer);
      if (stage.random.chance(0.7)) await this.correct(transfer);
    }
  }

  private receive(): Transfer {
    const { random, transfers, kernel } = this.stage;
    const orderId = `o${random.between(1, this.orders)}`;
    const amount = random.pick([3, PRICE], [1, PRICE / 2n]);
    const id = `l-${transfers.length + 1}`;
    kernel.say(`a customer transfers ${amount} for ${orderId} (${id})`);
    return { id, reference: 'customer-1', orderId, amount, toldFor: new Set(), isReturned: false, hasPaid: false };
  }

  private async import(transfer: Transfer): Promise<void> {
    const { stage } = this;
    const { id, reference, amount, orderId: meant } = transfer;
    // The last one is of nobody.
    const other = `o${stage.random.between(1, this.orders + 1)}`;
    const orderId = stage.random.chance(stage.habits.mistaken) ? other : meant;
    const payment = { orderId, provider: WIRE, reference, transactionId: id, amount, currency: CURRENCY };
    const result = await stage.ask(`the clerk imports ${id} for ${orderId}`, (orders) => orders.markPaid(payment));
    const isFirst = stage.transfers.every((one) => one === transfer || !one.toldFor.has(orderId));
    if (result?.outcome === 'paid' && orderId === meant && isFirst) transfer.hasPaid = true;
    if (result) transfer.toldFor.add(orderId);
  }

  /** What was not booked for the order that it was meant for is assigned to it. */
  private async correct({ id, orderId }: Transfer): Promise<void> {
    const { stage } = this;
    await stage.pause(0, 40);
    const rows = (await stage.ask('the clerk looks', (orders) => orders.unmatched.list(), false)) ?? [];
    const isIts = (row: UnmatchedPayment): boolean =>
      row.provider === WIRE && nameOf(row) === id && ['unknown-order', 'attempt-mismatch'].includes(row.reason);
    const row = rows.find((one) => one.handling === 'kept' && isIts(one));
    if (!row) return;
    stage.touched.add(orderId);
    const assignment = { id: row.id, orderId, reason: 'the statement names it' };
    await stage.ask(`the clerk assigns ${id} to ${orderId}`, (orders) => orders.unmatched.assign(assignment));
  }
}

/** Wires the money of the row back. Undefined: it is not there any more, or the row does not say which it is. */
export function wireBack(stage: Stage, row: UnmatchedPayment): Transfer | undefined {
  const name = nameOf(row);
  const transfer = stage.transfers.find(({ id }) => id === name);
  if (!transfer || transfer.isReturned) return undefined;
  transfer.isReturned = true;
  stage.kernel.say(`a person wires ${transfer.id} back`);
  return transfer;
}

/** As the statement has it. */
function nameOf({ reference, evidence }: UnmatchedPayment): unknown {
  const { transactionId = reference } = evidence as { readonly transactionId?: unknown };
  return transactionId;
}
