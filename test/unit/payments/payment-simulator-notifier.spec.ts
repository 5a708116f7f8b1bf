import { type PaymentInput, type SimulatedProtocol } from 'nestjs-order-timeout-payment-simulator';
import { PaymentLedger } from '../../../packages/payment-simulator/src/payment-ledger';
import { ShopNotifier } from '../../../packages/payment-simulator/src/shop-notifier';
import { paymentInput } from '../../../packages/payment-simulator/src/simulator-input';
import { ManualClock } from '../../support/manual-clock';

type Answer = { readonly status: number; readonly body: string } | 'unreachable';

const OK: Answer = { status: 200, body: 'success' };
const SIGNATURE = 'abcdef0123456789';

/** A ledger whose payments are told to a shop that answers as scripted, one answer after the other, the last forever. */
function notifying(answers: Answer[] = [OK]) {
  const clock = new ManualClock();
  const stopping = new AbortController();
  const posts: { readonly at: number; readonly body: string; readonly isForged: boolean }[] = [];
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (_, init) => {
    const headers = init?.headers as Record<string, string>;
    const body = init?.body as string;
    posts.push({ at: clock.monotonic(), body, isForged: headers['x-signature'] !== SIGNATURE });
    const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? OK;
    if (answer === 'unreachable') throw new TypeError('fetch failed');
    return new Response(answer.body, { status: answer.status });
  });
  const protocol: SimulatedProtocol = {
    provider: 'acme',
    answer: () => Promise.reject(new Error('not asked here')),
    notification: ({ terms }, event) =>
      event === 'closed' ? undefined : { headers: { 'x-signature': SIGNATURE }, body: `${terms.reference} ${event}` },
    isAcknowledged: (_, body) => body === 'success',
    retryDelaysMs: [15_000, 30_000],
  };
  const notifier = new ShopNotifier({
    ...{ clock, protocolOf: () => protocol, retrySpeedUp: 10, stopping: stopping.signal },
  });
  const ledger = new PaymentLedger(clock, (payment, event) => notifier.announce(payment, event));
  const create = (reference: string, notify: Partial<PaymentInput['notify']> = {}) => {
    const terms = { provider: 'acme', reference, amount: 5, currency: 'EUR' };
    const payment = ledger.create(paymentInput.parse({ ...terms, notify: { url: 'http://shop.test/', ...notify } }));
    if (!payment) throw new Error('the reference is taken');
    return payment;
  };
  return { clock, create, posts, stopping };
}

afterEach(() => jest.restoreAllMocks());

describe('the notifications of the payment simulator', () => {
  it("are posted in the format of the payment's protocol, and once if acknowledged", async () => {
    const { clock, create, posts } = notifying();
    const payment = create('a');
    payment.pay(clock.now());
    await clock.pass(100_000);
    expect(posts).toEqual([{ at: 0, body: 'a paid', isForged: false }]);
    expect(payment.notifications).toEqual({ sent: 1, acknowledged: 1, failed: 0, lost: 0, forged: 0 });
  });

  it('are lost for single events if the script says so', async () => {
    const { clock, create, posts } = notifying();
    const payment = create('a', { lost: ['paid'] });
    payment.pay(clock.now());
    payment.refundDirectly(clock.now(), 1n);
    await clock.pass(100_000);
    expect(posts).toEqual([{ at: 0, body: 'a refunded', isForged: false }]);
    expect(payment.notifications).toMatchObject({ sent: 1, lost: 1 });
  });

  it('are repeated with the delays of the protocol, sped up, until the shop acknowledges them', async () => {
    const { clock, create, posts } = notifying([{ status: 200, body: 'thanks' }, 'unreachable', OK]);
    const payment = create('a');
    payment.pay(clock.now());
    await clock.pass(100_000);
    expect(posts.map(({ at }) => at)).toEqual([0, 1_500, 4_500]);
    expect(payment.notifications).toMatchObject({ sent: 2, acknowledged: 1, failed: 1 });
  });

  it('are abandoned after the last delay', async () => {
    const { clock, create, posts } = notifying([{ status: 500, body: '' }]);
    const payment = create('a');
    payment.pay(clock.now());
    await clock.pass(1_000_000);
    expect(posts).toHaveLength(3);
    expect(payment.notifications).toMatchObject({ sent: 0, acknowledged: 0, failed: 3 });
  });

  it('are not repeated after the simulator is closed', async () => {
    const { clock, create, posts, stopping } = notifying([{ status: 500, body: '' }]);
    create('a').pay(clock.now());
    await clock.pass(0);
    stopping.abort();
    await clock.pass(1_000_000);
    expect(posts).toHaveLength(1);
  });

  it('come twice if duplicates are scripted, and stop when one of them is acknowledged', async () => {
    const { clock, create, posts } = notifying([{ status: 500, body: '' }, OK]);
    create('a', { times: 2 }).pay(clock.now());
    await clock.pass(100_000);
    expect(posts).toHaveLength(2);
  });

  it('come after forged copies, which are counted separately', async () => {
    const { clock, create, posts } = notifying();
    const payment = create('a', { forged: 2 });
    payment.pay(clock.now());
    await clock.pass(0);
    expect(posts.map(({ isForged }) => isForged)).toEqual([true, true, false]);
    expect(payment.notifications).toEqual({ sent: 1, acknowledged: 1, failed: 0, lost: 0, forged: 2 });
  });

  it('come in reverse order if scripted so', async () => {
    const { clock, create, posts } = notifying();
    for (const reference of ['a', 'b', 'c']) create(reference, { reorder: true }).pay(clock.now());
    await clock.pass(1_000);
    expect(posts.map(({ body }) => body)).toEqual(['c paid', 'b paid', 'a paid']);
  });

  it('report refunds too, but no events that the protocol does not have', async () => {
    const { clock, create, posts } = notifying();
    const payment = create('a');
    payment.pay(clock.now());
    payment.refundDirectly(clock.now());
    create('b').close(clock.now());
    await clock.pass(100_000);
    expect(posts.map(({ body }) => body)).toEqual(['a paid', 'a refunded']);
  });

  it('are lost if scripted so, and counted', async () => {
    const { clock, create, posts } = notifying();
    const payment = create('a', { lost: true });
    payment.pay(clock.now());
    await clock.pass(100_000);
    expect(posts).toEqual([]);
    expect(payment.notifications).toMatchObject({ sent: 0, lost: 1 });
  });
});
