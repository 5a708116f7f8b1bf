import fc from 'fast-check';
import { type QueryOutcome } from '../../../src/payments';
import { paymentSteps } from './payment-steps';
import { fill, openShop, SCHEMA, settle, type Shop } from './shop';

const PRICE = 1_999;
const RUNS = 30;

/** What the provider says of an attempt, and which of a few payments it is: the same one may answer for several orders. */
interface PlannedAttempt {
  readonly answer: 'open' | 'unknown' | 'paid';
  readonly payment: number;
  readonly amount: number;
  /** The shop has reported it before the deadline. */
  readonly isReported: boolean;
}

const plannedAttempt: fc.Arbitrary<PlannedAttempt> = fc.record({
  answer: fc.constantFrom('paid', 'paid', 'paid', 'open', 'unknown'),
  payment: fc.integer({ min: 1, max: 3 }),
  amount: fc.constantFrom(PRICE, PRICE, PRICE, PRICE - 999, PRICE + 1),
  isReported: fc.boolean(),
});
const plannedOrders = fc.array(fc.array(plannedAttempt, { minLength: 0, maxLength: 2 }), {
  minLength: 2,
  maxLength: 5,
});

/** The second order's own payment is that of the first, too, and was reported under another attempt. */
const OTHER_NAME: PlannedAttempt[][] = [
  [{ answer: 'paid', payment: 1, amount: PRICE, isReported: false }],
  [
    { answer: 'paid', payment: 1, amount: PRICE, isReported: false },
    { answer: 'unknown', payment: 1, amount: PRICE, isReported: true },
  ],
];

describe('a batch of orders whose payments overlap', () => {
  let shop: Shop;
  let runs = 0;

  beforeAll(async () => {
    shop = await openShop({ reminderOffsetsMs: [] });
    await fill(shop, { apple: 1_000_000 });
  });
  afterAll(() => shop.database.drop());

  const { placed, report, expire, statusOf } = paymentSteps(() => shop);

  /** Places the planned orders under names that begin with `run`. */
  async function placeAll(run: string, plans: readonly PlannedAttempt[][]): Promise<string[]> {
    const ids: string[] = [];
    for (const [number, attempts] of plans.entries()) {
      const id = await placed({ id: `${run}-${number}` });
      for (const [index, planned] of attempts.entries()) await offer(run, id, `${id}-${index}`, planned);
      await expire(id);
      ids.push(id);
    }
    return ids;
  }

  async function offer(run: string, orderId: string, reference: string, planned: PlannedAttempt): Promise<void> {
    await shop.register.execute({ orderId, provider: 'fake', reference });
    const transactionId = `${run}-t${planned.payment}`;
    if (planned.isReported) await report(orderId, reference, planned.amount, transactionId);
    shop.provider.answerQuery(reference, answerOf(planned, transactionId));
    if (planned.answer === 'paid') shop.provider.answerClose(reference, { type: 'PAID' });
  }

  /** What became of an order: its status, attempts, unmatched payments, and refunds, without the names of the run. */
  async function endOf(run: string, id: string): Promise<unknown> {
    const attempts = await rowsOf(id, 'payment_attempt', 'reference, status, paid_amount');
    // Alone, an order before it tells of a claim that then turns out to be another name of the order's own payment.
    const isOwn = `NOT EXISTS (SELECT FROM ${SCHEMA}.payment_attempt a
        JOIN ${SCHEMA}.payment_attempt own ON own.order_id = a.order_id AND own.status = 'PAID'
         AND own.transaction_id = u.evidence->>'transactionId'
       WHERE a.reference = u.reference AND a.paid_amount IS NULL AND u.reason = 'attempt-mismatch')`;
    const unmatched = await rowsOf(id, 'unmatched_payment', 'reference, reason, handling, amount', isOwn);
    const refunds = await rowsOf(id, 'refund', 'reference, amount');
    const end = { status: await statusOf(id), attempts, unmatched, refunds };
    return JSON.parse(JSON.stringify(end).replaceAll(run, 'run')) as unknown;
  }

  /** Writes the rows of attempts anew, the last first: where rows lie must not decide anything. */
  const turnRows = (ids: readonly string[]): Promise<unknown> =>
    shop.dataSource.query(
      `WITH gone AS (DELETE FROM ${SCHEMA}.payment_attempt WHERE order_id = ANY($1) RETURNING *)
       INSERT INTO ${SCHEMA}.payment_attempt SELECT * FROM gone ORDER BY created_at DESC, reference DESC`,
      [ids],
    );

  const rowsOf = (id: string, table: string, columns: string, which = 'true'): Promise<unknown[]> =>
    shop.dataSource.query(
      `SELECT ${columns} FROM ${SCHEMA}.${table} u WHERE order_id = $1 AND ${which} ORDER BY ${columns}`,
      [id],
    );

  const endsOf = (run: string, ids: readonly string[]): Promise<unknown[]> =>
    Promise.all(ids.map((id) => endOf(run, id)));

  const settlesAlike = (): Promise<void> =>
    fc.assert(
      fc.asyncProperty(plannedOrders, async (plans) => {
        const number = ++runs;
        const together = await placeAll(`batch${number}`, plans);
        const alone = await placeAll(`alone${number}`, plans);
        await turnRows(alone);
        const inBatch = await settle(shop, together);
        const oneByOne = [];
        for (const id of alone) oneByOne.push(...(await settle(shop, [id])));
        expect(inBatch.map(({ type }) => type)).toEqual(oneByOne.map(({ type }) => type));
        expect(await endsOf(`batch${number}`, together)).toEqual(await endsOf(`alone${number}`, alone));
      }),
      { numRuns: RUNS, examples: [[OTHER_NAME]] },
    );

  it('ends as if each order were settled in a transaction of its own', settlesAlike);
});

function answerOf({ answer, amount }: PlannedAttempt, transactionId: string): QueryOutcome {
  if (answer === 'open') return { type: 'OPEN' };
  if (answer === 'unknown') return { type: 'UNKNOWN', reason: 'answered 503', outage: true };
  const paidAt = new Date('2026-01-01T00:00:00Z');
  return { type: 'PAID', amount: BigInt(amount), currency: 'EUR', paidAt, transactionId, evidence: {} };
}
