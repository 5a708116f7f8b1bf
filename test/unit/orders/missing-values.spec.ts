import { type EntityManager } from 'typeorm';
import { dataSourceStub } from '../../support/data-source-stub';
import { Database } from '../../../src/database';
import { applyFinding } from '../../../src/orders/model/findings';
import { decideClosing } from '../../../src/orders/model/plan-closing';
import { closesAt } from '../../../src/orders/model/order';
import { unmatchedFromAttempt } from '../../../src/orders/model/unmatched-money';
import { moneyReceived } from '../../../src/orders/model/money';
import { nextStep } from '../../../src/orders/lookup/payment-lookups';
import { lockOrders } from '../../../src/orders/sql/lock-orders';
import { ReadAttempts } from '../../../src/orders/sql/order-rows';
import { attempt, NOW, order, paid } from './orders';

const NEVER = new Date(NaN);
/** A database that returns no rows. */
const silent = { query: async () => [] as unknown[] };

describe('a missing value in money processing', () => {
  it('never closes an order: the time', () => {
    const dueIn2099 = order({ expiresAt: new Date('2099-01-01T00:00:00Z') });
    expect(() => decideClosing(dueIn2099, NEVER, 'park')).toThrow('invalid date');
    expect(closesAt(dueIn2099) > NOW).toBe(true);
  });

  it('never closes an attempt: the time of the database or of the provider', () => {
    const limited = attempt({ timeExpire: NOW });
    expect(() => nextStep(limited, { query: { type: 'NOT_FOUND' } }, NEVER)).toThrow('invalid date');
    expect(nextStep(limited, { query: { type: 'NOT_FOUND', providerNow: NEVER } }, NOW)).toMatchObject({
      finding: { type: 'UNKNOWN' },
    });
  });

  it('never counts as nothing paid: the amount', () => {
    const unpriced = paid({ paidAmount: null });
    expect(() => moneyReceived(order(), [unpriced])).toThrow('the amount that was paid for a-1');
    const why = { reason: 'late', handling: 'kept', now: NOW, traceparent: undefined } as const;
    expect(() => unmatchedFromAttempt(unpriced, why)).toThrow('the amount that was paid for a-1');
    expect(() => unmatchedFromAttempt(paid({ paidCurrency: null }), why)).toThrow('the currency');
  });

  it('never decides: the answer of the database', async () => {
    const tx = silent as unknown as EntityManager;
    const database = new Database(dataSourceStub({}, silent.query), 's');
    await expect(lockOrders(tx, database, ['o-1'], 'wait')).rejects.toThrow('is missing');
    const attempts = new ReadAttempts(database);
    await expect(attempts.execute('o-1', () => true)).rejects.toThrow('is missing');
  });

  it('does not change an attempt: a finding without information', () => {
    const open = attempt();
    expect(applyFinding(open, { type: 'NO_PROVIDER', reason: 'none' })).toBe(open);
    expect(applyFinding(open, { type: 'NOT_FOUND_YET', finalAt: null })).toBe(open);
    expect(() => applyFinding(open, { type: 'NEWER' } as never)).toThrow();
  });
});
