import { type PaymentAttemptRef, type RefundRequest } from '../../../src/payments';
import { describePaymentProvider, type PaymentProviderBench, ScriptedPaymentProvider } from '../../../src/testing';
import { anAttempt } from '../payments/an-attempt';

const signal = new AbortController().signal;

class Bench implements PaymentProviderBench {
  readonly provider = new ScriptedPaymentProvider('bank');
  private count = 0;

  openAttempt = async (): Promise<PaymentAttemptRef> => anAttempt({ reference: `r${(this.count += 1)}` });
  unknownAttempt = async (): Promise<PaymentAttemptRef> => {
    this.provider.forget('unknown');
    return anAttempt({ reference: 'unknown' });
  };
  pay = async ({ reference }: PaymentAttemptRef): Promise<boolean> => this.provider.pay(reference);
  refunded = async ({ reference }: PaymentAttemptRef): Promise<bigint> => this.provider.refunded(reference);
}

describe('the scripted payment provider', () => {
  const bench = new Bench();
  for (const one of describePaymentProvider(() => bench)) it(`keeps the contract: ${one.name}`, () => one.run());

  const attempt = anAttempt({ reference: 'a', amount: 500n });
  let bank: ScriptedPaymentProvider;

  beforeEach(() => {
    bank = new ScriptedPaymentProvider('bank');
  });

  it('gives the scripted answers in order, and then those of its books', async () => {
    bank.script('a', { query: [{ type: 'PROCESSING' }, { type: 'UNKNOWN', reason: 'r' }] });
    bank.script('a', { query: [new Error('down')], close: [{ type: 'IN_PROGRESS' }] });
    expect(await bank.query(attempt, signal)).toEqual({ type: 'PROCESSING' });
    expect(await bank.query(attempt, signal)).toEqual({ type: 'UNKNOWN', reason: 'r' });
    await expect(bank.query(attempt, signal)).rejects.toThrow('down');
    expect(await bank.query(attempt, signal)).toMatchObject({ type: 'OPEN' });
    expect(await bank.close(attempt, signal)).toEqual({ type: 'IN_PROGRESS' });
    expect(await bank.close(attempt, signal)).toMatchObject({ type: 'CLOSED' });
  });

  it('scripts one payment without another', async () => {
    bank.script('a', { query: [{ type: 'CLOSED' }] });
    expect(await bank.query(anAttempt({ reference: 'b' }), signal)).toMatchObject({ type: 'OPEN' });
  });

  it('is silent until the signal aborts', async () => {
    bank.script('a', { query: ['silence'] });
    const limit = new AbortController();
    const asked = bank.query(attempt, limit.signal);
    limit.abort();
    await expect(asked).rejects.toThrow('the provider has not answered');
  });

  it('takes another amount than the attempt says', async () => {
    bank.pay('a', { amount: 200n, currency: 'USD' });
    expect(await bank.query(attempt, signal)).toMatchObject({ type: 'PAID', amount: 200n, currency: 'USD' });
  });

  it('reports REFUNDED once all money has gone back', async () => {
    bank.pay('a');
    const refund: RefundRequest = {
      ...{ attempt, refundNumber: 'f'.repeat(32), amount: 500n, paidAmount: 500n, currency: 'EUR', reason: 'late' },
    };
    bank.script('a', { refund: [{ type: 'PENDING' }] });
    expect(await bank.refund(refund, signal)).toEqual({ type: 'PENDING' });
    expect(bank.refunded('a')).toBe(0n);
    expect(await bank.refund(refund, signal)).toMatchObject({ type: 'REFUNDED' });
    expect(await bank.query(attempt, signal)).toMatchObject({ type: 'REFUNDED' });
  });

  it('notifies of the money that pay() named, and else only of a change', async () => {
    bank.pay('a');
    bank.pay('b', { amount: 500n, currency: 'EUR' });
    expect(await bank.notifications.read(bank.notification('a'))).toMatchObject({
      type: 'STATUS_CHANGED',
      reference: 'a',
    });
    expect(await bank.notifications.read(bank.notification('b', 'shop-1'))).toMatchObject({
      ...{ type: 'PAID', reference: 'b', merchantAccount: 'shop-1', amount: 500n, currency: 'EUR' },
    });
    const other = { headers: {}, rawBody: Buffer.from('{') };
    expect(await bank.notifications.read(other)).toMatchObject({ type: 'REJECTED' });
  });

  it('has the merchant accounts of the provider that it stands in for', () => {
    const original = { defaultAccount: null, hasAccount: (account: string) => account === 'shop-1' };
    const stand = new ScriptedPaymentProvider('bank', original);
    expect([stand.defaultAccount, stand.hasAccount?.('shop-1'), stand.hasAccount?.('shop-2')]).toEqual([
      ...[null, true, false],
    ]);
    expect(bank.hasAccount).toBeUndefined();
  });

  it('lists its calls, and forgets everything when it is cleared', async () => {
    bank.pay('a');
    await bank.query(attempt, signal);
    await bank.close(attempt, signal);
    expect(bank.calls).toEqual([
      { call: 'query', reference: 'a' },
      { call: 'close', reference: 'a' },
    ]);
    bank.clear();
    expect(bank.calls).toEqual([]);
    expect(await bank.query(attempt, signal)).toMatchObject({ type: 'OPEN' });
  });
});
