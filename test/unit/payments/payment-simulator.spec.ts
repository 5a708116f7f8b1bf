import {
  type ProtocolContext,
  type Performed,
  PaymentSimulator,
  type SimulatedProtocol,
} from 'nestjs-order-timeout-payment-simulator';

/** Answers with what the ledger or a fault says. */
class EchoProtocol implements SimulatedProtocol {
  readonly provider = 'echo';
  readonly retryDelaysMs = [];

  constructor(private readonly context: ProtocolContext) {}

  async answer({ path, query }: { readonly path: string; readonly query: URLSearchParams }) {
    const found = this.context.ledger.find('echo', query.get('reference') ?? '');
    const performed = await this.context.perform('close', found, () => found?.payment.close(this.context.clock.now()));
    return performed.type === 'reply' ? performed.reply : said(path, performed);
  }

  notification(): undefined {
    return undefined;
  }

  isAcknowledged(): boolean {
    return true;
  }
}

function said(path: string, performed: Exclude<Performed<unknown>, { type: 'reply' }>) {
  const { type, fault } = performed;
  const value = performed.type === 'done' ? performed.value : undefined;
  return { type: 'answer', status: 200, body: JSON.stringify({ path, type, fault: fault?.fault, value }) } as const;
}

describe('PaymentSimulator', () => {
  const simulator = new PaymentSimulator({
    protocols: (context) => [new EchoProtocol(context)],
    merchants: { alipay: {}, wechatPay: {} },
  });
  let url: string;

  beforeAll(async () => {
    url = await simulator.listen();
  });
  afterAll(() => simulator.close());

  async function call(method: string, path: string, body?: unknown): Promise<[status: number, json: unknown]> {
    const response = await fetch(url + path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
    return [response.status, await response.json()];
  }

  async function create(reference: string, more: object = {}): Promise<void> {
    const terms = { provider: 'echo', reference, amount: 5, currency: 'EUR', ...more };
    expect(await call('POST', '/script/payments', terms)).toEqual([201, expect.objectContaining({ reference })]);
  }

  it('routes paths under the name of a protocol to that protocol, without the name', async () => {
    await create('path');
    expect(await call('GET', '/echo/v1/x?reference=path')).toEqual([
      200,
      { path: '/v1/x?reference=path', type: 'done', value: 'CLOSED' },
    ]);
    expect((await call('GET', '/nobody/v1'))[0]).toBe(404);
    expect((await call('GET', '/simulator/v1'))[0]).toBe(404);
  });

  it('separates payments of two protocols with the same reference', async () => {
    await create('same');
    await create('same', { provider: 'simulator' });
    expect(await call('POST', '/payments/same/pay')).toMatchObject([200, { provider: 'simulator' }]);
    expect(await call('POST', '/script/payments/echo/same/script', { closeLies: true })).toMatchObject([
      200,
      { provider: 'echo', status: 'OPEN' },
    ]);
  });

  it('lets a buyer scan and pay, and an operator refund, for any protocol', async () => {
    await create('scan', { existsFrom: 'scan' });
    expect(await call('GET', '/echo/?reference=scan')).toMatchObject([200, { value: 'NOT_FOUND' }]);
    expect(await call('POST', '/script/payments/echo/scan/scan')).toMatchObject([200, { status: 'OPEN' }]);
    expect(await call('POST', '/script/payments/echo/scan/pay')).toMatchObject([200, { result: 'accepted' }]);
    expect(await call('POST', '/script/payments/echo/scan/refund')).toMatchObject([200, { status: 'REFUNDED' }]);
    expect((await call('POST', '/script/payments/echo/scan/refund'))[0]).toBe(409);
    expect((await call('POST', '/script/payments/echo/nobody/pay'))[0]).toBe(404);
  });

  it('separates payments of two merchants with the same reference', async () => {
    await create('alike', { merchantAccount: 'a' });
    await create('alike', { merchantAccount: 'b' });
    const again = { provider: 'echo', reference: 'alike', amount: 5, currency: 'EUR', merchantAccount: 'b' };
    expect((await call('POST', '/script/payments', again))[0]).toBe(409);
    expect((await call('POST', '/script/payments', { ...again, merchantAccount: undefined }))[0]).toBe(409);
    expect(await call('POST', '/script/payments/echo/alike/pay?account=b')).toMatchObject([
      200,
      { merchantAccount: 'b', status: 'PAID' },
    ]);
    const alike = simulator.ledger().filter(({ reference }) => reference === 'alike');
    expect(alike.map(({ merchantAccount, status }) => [merchantAccount, status])).toEqual([
      ['a', 'OPEN'],
      ['b', 'PAID'],
    ]);
    expect((await call('POST', '/script/payments/echo/alike/pay?account=c'))[0]).toBe(404);
  });

  it('allows a manual partial refund, and never more than is left', async () => {
    await create('part');
    expect((await call('POST', '/script/payments/echo/part/refund', { amount: 1 }))[0]).toBe(409);
    await call('POST', '/script/payments/echo/part/pay');
    expect((await call('POST', '/script/payments/echo/part/refund', { amount: 6 }))[0]).toBe(409);
    expect((await call('POST', '/script/payments/echo/part/refund', { amount: 0 }))[0]).toBe(422);
    expect(await call('POST', '/script/payments/echo/part/refund', { amount: 1 })).toMatchObject([
      200,
      { status: 'PAID', refundedAmount: '1' },
    ]);
    expect(await call('POST', '/script/payments/echo/part/refund')).toMatchObject([200, { status: 'REFUNDED' }]);
  });

  it('sets another script and faults for an existing payment', async () => {
    await create('late');
    const script = { script: { buyer: 'pays-after', ms: 0 }, partialAmount: '3', faults: [{ fault: 'rate-limited' }] };
    expect(await call('POST', '/script/payments/echo/late/script', script)).toMatchObject([200, { status: 'PAID' }]);
    expect(simulator.ledger().find(({ reference }) => reference === 'late')).toMatchObject({ paidAmount: '3' });
    expect(await call('GET', '/echo/?reference=late')).toMatchObject([200, { fault: 'rate-limited' }]);
    expect(await call('POST', '/script/payments/echo/late/script', { amount: 1 })).toMatchObject([422, {}]);
  });

  it.each([
    ['rate-limited', 'refused', 'OPEN'],
    ['not-found', 'refused', 'OPEN'],
    ['wrong-signature', 'done', 'CLOSED'],
  ])('under the fault %s a call is %s and the payment stays %s', async (fault, type, status) => {
    await create(fault, { faults: [{ fault }] });
    expect(await call('GET', `/echo/?reference=${fault}`)).toMatchObject([200, { type, fault }]);
    expect(simulator.ledger().find(({ reference }) => reference === fault)).toMatchObject({ status });
  });

  it('fails without an error in the body if scripted so, and does nothing', async () => {
    await create('bodyless', { faults: [{ fault: 'error-without-body' }] });
    expect(await call('GET', '/echo/?reference=bodyless')).toEqual([500, { message: 'scripted' }]);
    expect(simulator.ledger().find(({ reference }) => reference === 'bodyless')).toMatchObject({ closes: 0 });
  });

  it('shows the merchants of the other protocols to this and other processes', async () => {
    const [status, merchants] = await call('GET', '/script/merchants');
    expect(status).toBe(200);
    expect(merchants).toEqual(JSON.parse(JSON.stringify(simulator.merchants)));
    expect(merchants).toMatchObject({ alipay: {}, stripe: { shop: { secretKey: expect.any(String) as string } } });
  });
});
