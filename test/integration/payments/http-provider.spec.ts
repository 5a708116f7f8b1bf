import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { type FaultInput, PaymentSimulator, SIMULATOR_SECRET } from 'nestjs-order-timeout-payment-simulator';
import { SystemClock } from '../../../src/clock';
import { ResilientProvider, HttpPaymentProvider, type PaymentAttemptRef } from '../../../src/payments';
import { type ConformanceFault, describePaymentProvider } from '../../../src/testing';
import { ManualClock } from '../../support/manual-clock';
import { SimulatorClient } from './simulator-client';

const SHOP_A = 'the-secret-of-shop-a';
const never = new AbortController().signal;
const clock = new SystemClock();
const simulator = new PaymentSimulator({ merchantSecrets: { 'shop-a': SHOP_A, 'shop-b': 'the-secret-of-shop-b' } });
let baseUrl: string;
let http: HttpPaymentProvider;
let client: SimulatorClient;

const FAULTS: Readonly<Record<ConformanceFault, FaultInput>> = {
  silent: { fault: 'hang' },
  failing: { fault: 'error' },
  forged: { fault: 'wrong-signature' },
  'answers-lost': { fault: 'lost-response' },
};

describe('HttpPaymentProvider', () => {
  beforeAll(async () => {
    baseUrl = await simulator.listen();
    client = new SimulatorClient(baseUrl);
    http = new HttpPaymentProvider(
      { name: 'simulator', baseUrl, secret: SIMULATOR_SECRET, merchantSecrets: { 'shop-a': SHOP_A } },
      clock,
    );
  });
  afterEach(() => client.clearFaults());
  afterAll(() => simulator.close());

  describe('keeps the contract of PaymentProvider', () => {
    const cases = describePaymentProvider(
      () => ({
        // The simulator refunds parts.
        provider: Object.assign(http, { refundsInPart: true }),
        openAttempt: () => client.create(),
        unknownAttempt: () => Promise.resolve(anUnknownAttempt()),
        pay: async (attempt) => (await client.pay(attempt)) === 200,
        refunded: async (attempt) => BigInt((await client.truthOf(attempt))?.refundedAmount ?? 0),
        inject: async (fault) => {
          await client.addFault(FAULTS[fault]);
          return () => client.clearFaults();
        },
      }),
      ['silent', 'failing', 'forged', 'answers-lost'],
    );
    it.each(cases)('$name', (each) => each.run());
  });

  describe('with the simulator', () => {
    it('reads every state of a payment', async () => {
      const open = await client.create();
      expect(await http.query(open, never)).toMatchObject({ type: 'OPEN' });
      const processing = await client.create({ script: { buyer: 'pays-after', ms: 0, processingMs: 60_000 } });
      expect(await http.query(processing, never)).toMatchObject({ type: 'PROCESSING' });
      expect(await http.close(processing, never)).toMatchObject({ type: 'IN_PROGRESS' });
      const authorized = await client.create({ script: { buyer: 'pays-after', ms: 0, authorizes: true } });
      expect(await http.query(authorized, never)).toMatchObject({ type: 'AUTHORIZED' });
      const paid = await client.create({ amount: '900719925474099312', script: { buyer: 'pays-after', ms: 0 } });
      expect(await http.query(paid, never)).toMatchObject({ type: 'PAID', amount: 900_719_925_474_099_312n });
      expect(await http.close(paid, never)).toMatchObject({ type: 'PAID' });
      expect(await client.refund(paid)).toBe(200);
      expect(await http.query(paid, never)).toMatchObject({ type: 'REFUNDED' });
      expect(await http.close(open, never)).toMatchObject({ type: 'CLOSED' });
      expect(await http.query(open, never)).toMatchObject({ type: 'CLOSED' });
      expect(await http.close(open, never)).toMatchObject({ type: 'ALREADY_CLOSED' });
      expect(await http.query(anUnknownAttempt(), never)).toMatchObject({
        type: 'NOT_FOUND',
        providerNow: expect.any(Date) as Date,
      });
    });

    it('finds a payment only for the merchant account that it belongs to', async () => {
      const ofShopA = await client.create({ merchantAccount: 'shop-a' });
      const { provider, reference, amount, currency, createdAt } = ofShopA;
      const ofNobody = { provider, reference, amount, currency, createdAt };
      expect(await http.query(ofShopA, never)).toMatchObject({ type: 'OPEN' });
      expect(await http.query(ofNobody, never)).toMatchObject({ type: 'NOT_FOUND' });
      expect(await http.close({ ...ofShopA, merchantAccount: 'shop-b' }, never)).toMatchObject({ type: 'UNKNOWN' });
      expect(await client.truthOf(ofShopA)).toMatchObject({ status: 'OPEN' });
    });

    it.each<FaultInput>([
      { fault: 'unsigned' },
      { fault: 'wrong-signature' },
      { fault: 'wrong-reference' },
      { fault: 'wrong-nonce' },
      { fault: 'unrecognised' },
      { fault: 'garbage' },
      { fault: 'skewed-clock' },
      { fault: 'error', status: 500 },
      { fault: 'error', status: 429, retryAfterSeconds: 3 },
      { fault: 'drop' },
    ])('is UNKNOWN under the fault %j', async (fault) => {
      const attempt = await client.create({ faults: [fault] });
      expect(await http.query(attempt, never)).toMatchObject({ type: 'UNKNOWN' });
      expect(await http.close(attempt, never)).toMatchObject({ type: 'UNKNOWN' });
    });

    it('is rejected by the simulator if it signs with the wrong secret', async () => {
      const impostor = new HttpPaymentProvider({ name: 'x', baseUrl, secret: 'not-the-right-secret' }, clock);
      const attempt = await client.create();
      expect(await impostor.close(attempt, never)).toMatchObject({ type: 'UNKNOWN' });
      expect(await client.truthOf(attempt)).toMatchObject({ status: 'OPEN', closes: 0 });
    });

    it('does not follow a redirect, even to an answer that would be trusted', async () => {
      const detour = createServer((request, response) =>
        response.writeHead(307, { location: baseUrl + (request.url ?? '') }).end(),
      );
      await new Promise<void>((resolve) => detour.listen(0, '127.0.0.1', resolve));
      const detourUrl = `http://127.0.0.1:${(detour.address() as AddressInfo).port}`;
      const redirected = new HttpPaymentProvider({ name: 'x', baseUrl: detourUrl, secret: SIMULATOR_SECRET }, clock);
      const attempt = await client.create();
      const outcome = await redirected.close(attempt, never);
      await new Promise((resolve) => {
        detour.close(resolve);
        detour.closeAllConnections();
      });
      expect(outcome).toMatchObject({ type: 'UNKNOWN' });
      expect(await client.truthOf(attempt)).toMatchObject({ status: 'OPEN', closes: 0 });
    });

    it('in a ResilientProvider, a provider that hangs is UNKNOWN after the time-out', async () => {
      const resilient = new ResilientProvider(http, clock, { timeoutMs: 50 });
      const attempt = await client.create({ faults: [{ fault: 'hang', times: 1 }] });
      expect(await resilient.query(attempt, never)).toMatchObject({ type: 'UNKNOWN', outage: true });
      expect(await http.query(attempt, never)).toMatchObject({ type: 'OPEN' });
    });

    it('in a ResilientProvider, an outage opens the breaker and its end closes it', async () => {
      // The time of the breaker stands still between the steps, however slow the machine is.
      const breakerClock = new ManualClock();
      const resilient = new ResilientProvider(http, breakerClock, { breakerThreshold: 2, breakerOpenMs: 5_000 });
      const attempt = await client.create();
      await client.addFault({ fault: 'error', times: 2 });
      await resilient.query(attempt, never);
      await resilient.query(attempt, never);
      expect(await resilient.query(attempt, never)).toMatchObject({ type: 'UNKNOWN', retryAfterMs: 5_000 });
      await breakerClock.pass(5_000);
      expect(await resilient.query(attempt, never)).toMatchObject({ type: 'OPEN' });
    });
  });
});

describe('a slow close', () => {
  const simulatorClock = new ManualClock();
  const slow = new PaymentSimulator({ clock: simulatorClock });
  let slowClient: SimulatorClient;
  let provider: HttpPaymentProvider;

  beforeAll(async () => {
    const baseUrl = await slow.listen();
    slowClient = new SimulatorClient(baseUrl);
    provider = new HttpPaymentProvider({ name: 'slow', baseUrl, secret: SIMULATOR_SECRET }, simulatorClock);
  });
  afterAll(() => slow.close());

  it.each([
    ['before-effect', 'PAID', 200],
    ['after-effect', 'CLOSED', 409],
  ] as const)('that waits %s ends as %s when the buyer comes in between', async (phase, expected, payStatus) => {
    const attempt = await slowClient.create({ faults: [{ fault: 'latency', ms: 1_000, phase, on: 'close' }] });
    const closing = provider.close(attempt, never);
    // The wait of the simulator shows that the close has arrived.
    while (simulatorClock.pendingTimers === 0) await clock.sleep(1);
    expect(await slowClient.pay(attempt)).toBe(payStatus);
    await simulatorClock.pass(1_000);
    expect(await closing).toMatchObject({ type: expected });
  });
});

function anUnknownAttempt(): PaymentAttemptRef {
  const reference = `unknown-${randomUUID()}`;
  return { provider: 'simulator', reference, amount: 1n, currency: 'EUR', createdAt: new Date() };
}
