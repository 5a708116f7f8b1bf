import { ok, strictEqual } from 'node:assert/strict';
import { type Check } from './check';

/** Query and close, by the name of the case. */
export const PAYMENT_CASES: Readonly<Record<string, Check>> = {
  'an attempt nobody paid is OPEN': async (bench) => {
    await bench.expectQuery(await bench.openAttempt(), 'OPEN');
  },
  'asking changes nothing: the buyer can still pay': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectQuery(attempt, 'OPEN');
    await bench.expectQuery(attempt, 'OPEN');
    ok(await bench.pay(attempt), 'the buyer was refused after queries only');
  },
  'a paid attempt is PAID with amount, currency, time and transaction': async (bench) => {
    const attempt = await bench.paidAttempt();
    const outcome = await bench.query(attempt);
    strictEqual(outcome.type, 'PAID');
    strictEqual(outcome.amount, attempt.amount);
    strictEqual(outcome.currency, attempt.currency);
    ok(!Number.isNaN(outcome.paidAt.getTime()), 'paidAt is not a date');
    ok(outcome.transactionId.length > 0, 'transactionId is empty');
  },
  'an attempt the provider never heard of is NOT_FOUND to query and close': async (bench) => {
    const attempt = await bench.unknownAttempt();
    await bench.expectQuery(attempt, 'NOT_FOUND');
    await bench.expectClose(attempt, ['NOT_FOUND']);
  },
  'after a close the attempt is CLOSED and the buyer is refused': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectClose(attempt, ['CLOSED', 'ALREADY_CLOSED']);
    ok(!(await bench.pay(attempt)), 'the provider took money after it said CLOSED');
    await bench.expectQuery(attempt, 'CLOSED');
  },
  'closing twice is harmless': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectClose(attempt, ['CLOSED', 'ALREADY_CLOSED']);
    await bench.expectClose(attempt, ['CLOSED', 'ALREADY_CLOSED']);
  },
  'closing a paid attempt answers PAID and leaves the payment alone': async (bench) => {
    const attempt = await bench.paidAttempt();
    await bench.expectClose(attempt, ['PAID']);
    await bench.expectQuery(attempt, 'PAID');
    await bench.expectGivenBack(attempt, 0n);
  },
  'a call with an aborted signal ends without a conclusion': async (bench) => {
    const attempt = await bench.openAttempt();
    await bench.expectNoConclusion(attempt, () => AbortSignal.abort());
    await bench.expectQuery(attempt, 'OPEN');
  },
};
