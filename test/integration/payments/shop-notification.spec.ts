import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { PaymentSimulator, SIMULATOR_SECRET } from 'nestjs-order-timeout-payment-simulator';
import { isSameSignature, SIGNATURE_HEADERS, signHttpRequest } from '../../../src/payments/http/http-exchange';
import { SimulatorClient } from './simulator-client';

/** A shop that keeps what it is told and can be waited for. */
class ListeningShop {
  readonly notifications: {
    path: string;
    body: Record<string, unknown>;
    isSigned: boolean;
    key: string | undefined;
  }[] = [];
  status = 200;
  private readonly waiting = new Set<() => void>();
  private readonly server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const header = (name: string): string => String(request.headers[name]);
      const message = { timestamp: header(SIGNATURE_HEADERS.timestamp), nonce: header(SIGNATURE_HEADERS.nonce), body };
      const path = request.url ?? '';
      const expected = signHttpRequest(SIMULATOR_SECRET, { ...message, method: 'POST', path });
      this.notifications.push({
        path,
        body: JSON.parse(body.toString()) as Record<string, unknown>,
        isSigned: isSameSignature(expected, header(SIGNATURE_HEADERS.signature)),
        key: request.headers['x-api-key'] as string | undefined,
      });
      response.writeHead(this.status).end();
      for (const wake of this.waiting) wake();
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Resolves when `count` messages have arrived. */
  async received(count: number): Promise<void> {
    while (this.notifications.length < count) await new Promise<void>((resolve) => this.waiting.add(resolve));
  }

  async close(): Promise<void> {
    await new Promise((resolve) => {
      this.server.close(resolve);
      this.server.closeAllConnections();
    });
  }
}

describe('the notification of the shop', () => {
  const simulator = new PaymentSimulator({ name: 'pay' });
  let shop: ListeningShop;
  let shopUrl: string;
  let client: SimulatorClient;

  beforeAll(async () => {
    client = new SimulatorClient(await simulator.listen());
  });
  beforeEach(async () => {
    shop = new ListeningShop();
    shopUrl = await shop.listen();
  });
  afterEach(() => shop.close());
  afterAll(() => simulator.close());

  it('reports the payment of a scripted buyer, signed and with the configured headers', async () => {
    const notify = { url: `${shopUrl}/paid?x=1`, headers: { 'x-api-key': 'k' } };
    const attempt = await client.create({ orderId: 'o-1', script: { buyer: 'pays-after', ms: 20 }, notify });
    await shop.received(1);
    const [message] = shop.notifications;
    expect(message).toMatchObject({ path: '/paid?x=1', isSigned: true, key: 'k' });
    expect(message?.body).toEqual({
      provider: 'pay',
      reference: attempt.reference,
      orderId: 'o-1',
      amount: 1_999,
      currency: 'EUR',
      paidAt: (await client.truthOf(attempt))?.paidAt,
      transactionId: `sim-${attempt.reference}`,
    });
  });

  it('is sent in duplicate if configured so', async () => {
    const attempt = await client.create({ notify: { url: shopUrl, times: 3 } });
    await client.pay(attempt);
    await shop.received(3);
    expect(new Set(shop.notifications.map(({ body }) => body.reference))).toEqual(new Set([attempt.reference]));
  });

  it('reports a payment whose processing time ends, even if nobody queries it', async () => {
    await client.create({
      script: { buyer: 'pays-after', ms: 5, processingMs: 20 },
      notify: { url: shopUrl },
    });
    await shop.received(1);
    expect(shop.notifications).toHaveLength(1);
  });

  it('reports it too if the buyer acted long before the script', async () => {
    const script = { buyer: 'pays-after', ms: 3_600_000, processingMs: 20 } as const;
    await client.pay(await client.create({ script, notify: { url: shopUrl } }));
    await shop.received(1);
    expect(shop.notifications).toHaveLength(1);
  });

  it('is lost if scripted so, and the ledger records that', async () => {
    const attempt = await client.create({ notify: { url: shopUrl, lost: true } });
    await client.pay(attempt);
    // Another one that is not lost shows that the first would have arrived by now.
    await client.pay(await client.create({ notify: { url: shopUrl } }));
    await shop.received(1);
    expect(shop.notifications.map(({ body }) => body.reference)).not.toContain(attempt.reference);
    expect(await client.truthOf(attempt)).toMatchObject({
      status: 'PAID',
      notifications: { sent: 0, lost: 1, failed: 0 },
    });
  });

  it('counts as failed if the shop answers with an error', async () => {
    shop.status = 500;
    const attempt = await client.create({ notify: { url: shopUrl } });
    await client.pay(attempt);
    await shop.received(1);
    const failed = async (): Promise<number> => (await client.truthOf(attempt))?.notifications.failed ?? 0;
    while ((await failed()) === 0);
    expect(await failed()).toBe(1);
  });
});
