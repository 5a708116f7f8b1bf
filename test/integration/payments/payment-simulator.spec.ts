import { SystemClock } from '../../../src/clock';
import { HttpPaymentProvider } from '../../../src/payments';
import { SimulatorClient } from './simulator-client';
import { SimulatorProcess } from './simulator-process';

const never = new AbortController().signal;
const SECRET = 'the-secret-of-the-process';

describe('the payment simulator as a process', () => {
  let running: SimulatorProcess;
  let client: SimulatorClient;
  let http: HttpPaymentProvider;

  beforeAll(async () => {
    running = await SimulatorProcess.start({ PAYMENT_SIMULATOR_SECRET: SECRET });
    client = new SimulatorClient(running.url);
    http = new HttpPaymentProvider({ name: 'simulator', baseUrl: running.url, secret: SECRET }, new SystemClock());
  });
  afterAll(() => running.stop());

  it('lets a buyer pay until the shop closes, and not after', async () => {
    const attempt = await client.create({ orderId: 'order-7' });
    expect(await http.close(attempt, never)).toMatchObject({ type: 'CLOSED' });
    expect(await client.pay(attempt)).toBe(409);
    expect(await client.truthOf(attempt)).toMatchObject({
      orderId: 'order-7',
      status: 'CLOSED',
      winner: 'shop',
      refusedPays: 1,
    });
  });

  it('lets a buyer who pays between the query and the close win', async () => {
    const attempt = await client.create({ script: { buyer: 'pays-after-query' } });
    expect(await http.query(attempt, never)).toMatchObject({ type: 'OPEN' });
    expect(await http.close(attempt, never)).toMatchObject({ type: 'PAID' });
    expect(await client.truthOf(attempt)).toMatchObject({ status: 'PAID', winner: 'buyer' });
  });

  it('closes even if the answer to the close is lost', async () => {
    const attempt = await client.create();
    // However often: over a kept connection it is asked once more.
    await client.addFault({ fault: 'lost-response', on: 'close' });
    expect(await http.close(attempt, never)).toMatchObject({ type: 'UNKNOWN' });
    expect(await client.truthOf(attempt)).toMatchObject({ status: 'CLOSED' });
    await client.clearFaults();
    expect(await http.close(attempt, never)).toMatchObject({ type: 'ALREADY_CLOSED' });
  });

  it('does not find a payment for the first n calls if told so', async () => {
    const attempt = await client.create({ faults: [{ fault: 'not-found', times: 2 }] });
    expect(await http.query(attempt, never)).toMatchObject({ type: 'NOT_FOUND' });
    expect(await http.close(attempt, never)).toMatchObject({ type: 'NOT_FOUND' });
    expect(await http.query(attempt, never)).toMatchObject({ type: 'OPEN' });
  });

  it('says what is wrong with a script', async () => {
    const bad = { reference: 'x', amount: 0, currency: 'euro', script: { buyer: 'steals' } };
    const { status, json } = await client.send('POST', '/script/payments', bad);
    expect(status).toBe(422);
    expect(json).toMatchObject({
      problems: [/^amount/, /^currency/, /^script/].map((p) => expect.stringMatching(p) as string),
    });
    expect((await client.send('POST', '/script/faults')).status).toBe(422);
  });

  it('rejects a reference that is taken, and paths that do not exist', async () => {
    const { reference } = await client.create();
    expect((await client.send('POST', '/script/payments', { reference, amount: 1, currency: 'EUR' })).status).toBe(409);
    expect((await client.send('POST', '/payments/nobody/pay')).status).toBe(404);
    expect((await client.send('GET', '/nowhere')).status).toBe(404);
    expect((await client.send('GET', `/payments/${reference}`)).status).toBe(401);
  });

  it('ends with code 0 at SIGTERM, even while a call hangs', async () => {
    const other = await SimulatorProcess.start({ PAYMENT_SIMULATOR_SECRET: SECRET });
    const hung = new HttpPaymentProvider({ name: 'x', baseUrl: other.url, secret: SECRET }, new SystemClock());
    const attempt = await new SimulatorClient(other.url).create({ faults: [{ fault: 'hang' }] });
    const call = hung.query(attempt, never);
    expect(await other.stop()).toBe(0);
    expect(await call).toMatchObject({ type: 'UNKNOWN', outage: true });
  });

  it('says why it cannot start', async () => {
    const port = new URL(running.url).port;
    await expect(SimulatorProcess.start({ PAYMENT_SIMULATOR_PORT: port })).rejects.toThrow(/ended with 1 .*EADDRINUSE/);
  });
});
