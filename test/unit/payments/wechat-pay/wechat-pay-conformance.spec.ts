import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { Decorator } from 'wechatpay-axios-plugin';
import { type FaultInput, type LedgerEntry, PaymentSimulator } from 'nestjs-order-timeout-payment-simulator';
import { SystemClock } from '../../../../src/clock';
import { type Notification, type NotificationVerdict, type PaymentAttemptRef } from '../../../../src/payments';
import { WechatPayProvider } from '../../../../src/payments/wechat-pay';
import { type ConformanceFault, describePaymentProvider, type PaymentProviderBench } from '../../../../src/testing';
import { anAttempt } from '../an-attempt';

const FAULTS: Readonly<Record<ConformanceFault, FaultInput>> = {
  silent: { fault: 'hang' },
  failing: { fault: 'error', status: 503 },
  forged: { fault: 'wrong-signature' },
  'answers-lost': { fault: 'lost-response' },
};

describe('WechatPayProvider at the payment simulator', () => {
  // WeChat Pay's first repetition comes after 15 s.
  const simulator = new PaymentSimulator({ retrySpeedUp: 15_000 });
  const shop = simulator.merchants.wechatPay['shop']?.options;
  if (!shop) throw new TypeError('the simulator has no shop');
  let provider: WechatPayProvider;
  let bench: PaymentProviderBench;
  let url = '';

  const script = (path: string, body: object = {}, method = 'POST'): Promise<Response> =>
    fetch(`${url}/script/${path}`, { method, ...(method === 'POST' && { body: JSON.stringify(body) }) });
  const anyAttempt = (): PaymentAttemptRef =>
    anAttempt({ provider: 'wechat-pay', reference: randomUUID().replaceAll('-', ''), amount: 8_888n, currency: 'CNY' });
  const entryOf = ({ reference }: PaymentAttemptRef): LedgerEntry | undefined =>
    simulator.ledger().find((one) => one.reference === reference);
  const pay = async ({ reference }: PaymentAttemptRef): Promise<boolean> =>
    (await script(`payments/wechat-pay/${reference}/pay`)).ok;

  /** As a shop's checkout does it. */
  async function create(notifyUrl = 'http://127.0.0.1:9/payments/wechat-pay/notify'): Promise<PaymentAttemptRef> {
    const attempt = anyAttempt();
    const { mchid, appid, serialNo: serial, privateKey, platformKeys } = { ...shop } as NonNullable<typeof shop>;
    const { v3 } = new Decorator({ mchid, serial, privateKey, certs: platformKeys, baseURL: `${url}/wechat-pay` });
    await v3.post('/v3/pay/transactions/native', {
      ...{ appid, mchid, description: 'Order 4711', out_trade_no: attempt.reference, notify_url: notifyUrl },
      amount: { total: Number(attempt.amount), currency: 'CNY' },
    });
    return attempt;
  }

  beforeAll(async () => {
    url = await simulator.listen();
    provider = new WechatPayProvider({ baseUrl: `${url}/wechat-pay`, merchants: { shop } }, new SystemClock());
    bench = {
      provider,
      openAttempt: () => create(),
      unknownAttempt: async () => anyAttempt(),
      pay,
      refunded: async (attempt) => BigInt(entryOf(attempt)?.refundedAmount ?? 0),
      inject: async (fault) => {
        await script('faults', FAULTS[fault]);
        return async () => void (await script('faults', {}, 'DELETE'));
      },
    };
  });
  afterAll(() => simulator.close());

  const cases = describePaymentProvider(() => bench, Object.keys(FAULTS) as ConformanceFault[]);
  it.each(cases)('$name', (one) => one.run());

  it('receives notifications of a payment and a refund until it accepts them', async () => {
    const told = await listen(provider, ['later', 'accepted', 'accepted']);
    const attempt = await create(told.url);
    await pay(attempt);
    expect(await told.next()).toMatchObject({ type: 'PAID', reference: attempt.reference, amount: 8_888n });
    expect(await told.next()).toMatchObject({ type: 'PAID', reference: attempt.reference, merchantAccount: 'shop' });
    await script(`payments/wechat-pay/${attempt.reference}/refund`);
    expect(await told.next()).toMatchObject({ type: 'STATUS_CHANGED', reference: attempt.reference });
    await told.close();
  });

  it('rejects forged notifications', async () => {
    const told = await listen(provider, ['rejected', 'accepted']);
    const attempt = await create(told.url);
    await script(`payments/wechat-pay/${attempt.reference}/script`, { notify: { url: told.url, forged: 1 } });
    await pay(attempt);
    const types = [await told.next(), await told.next()].map(({ type }) => type);
    expect(types.sort()).toEqual(['PAID', 'REJECTED']);
    await told.close();
  });
});

interface Told {
  readonly url: string;
  /** The next notification that comes in, read. */
  next(): Promise<Notification>;
  close(): Promise<unknown>;
}

/** A shop's address for notifications that answers with one verdict after the other. */
async function listen({ notifications }: WechatPayProvider, verdicts: NotificationVerdict[]): Promise<Told> {
  const read: Notification[] = [];
  let wake = (): void => undefined;
  const server: Server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      read.push(await notifications.read({ headers: request.headers, rawBody: Buffer.concat(chunks) }));
      const { status, body, contentType } = notifications.reply(verdicts.shift() ?? 'accepted');
      response.writeHead(status, contentType === undefined ? {} : { 'content-type': contentType }).end(body);
      wake();
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/payments/wechat-pay/notify`,
    next: async () => {
      while (read.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return read.shift() as Notification;
    },
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
