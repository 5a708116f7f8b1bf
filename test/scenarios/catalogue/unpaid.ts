import { type Scenario } from '../scenario';
import { withLimit } from './in-time';

const CLOSED = { status: ['CLOSED'] } as const;
const NEVER = { script: { buyer: 'never' } } as const;

/** The buyer does not pay; the order closes, and not before the provider has said so. */
export const UNPAID: readonly Scenario[] = [
  {
    name: 'never-starts',
    says: 'the buyer never begins to pay',
    plan: (random) => ({ windowMs: random.between(1_000, 3_000), ends: CLOSED, payments: [] }),
  },
  {
    name: 'never-pays',
    says: 'the buyer opens the payment page and leaves',
    plan: (random, provider) => {
      const windowMs = random.between(1_500, 3_500);
      return { windowMs, ends: CLOSED, payments: [{ ...NEVER, ...withLimit(provider, windowMs) }] };
    },
  },
  {
    name: 'close-response-lost',
    says: 'the provider closes, its answer is lost',
    plan: () => ({
      windowMs: 2_500,
      ends: CLOSED,
      payments: [{ ...NEVER, faults: [{ fault: 'lost-response', on: 'close', times: 1 }] }],
    }),
  },
  {
    name: 'close-answers-500',
    says: 'the first two closes fail',
    plan: () => ({
      windowMs: 2_500,
      ends: CLOSED,
      payments: [{ ...NEVER, faults: [{ fault: 'error', status: 500, on: 'close', times: 2 }] }],
    }),
  },
  {
    name: 'close-answers-bare-500',
    says: 'the first close answers 500 with a body that names no error',
    plan: () => ({
      windowMs: 2_500,
      ends: CLOSED,
      payments: [{ ...NEVER, faults: [{ fault: 'error-without-body', on: 'close', times: 1 }] }],
    }),
  },
  {
    name: 'close-limited',
    says: 'the close is refused twice (rate limit), and nobody pays',
    plan: () => ({
      windowMs: 2_500,
      ends: CLOSED,
      payments: [{ ...NEVER, faults: [{ fault: 'rate-limited', on: 'close', times: 2 }] }],
    }),
  },
  {
    name: 'close-takes-a-while',
    says: 'the close is accepted, and for 3 s queries still say open',
    plan: () => ({ windowMs: 2_500, ends: CLOSED, payments: [{ ...NEVER, closeLagMs: 3_000 }] }),
  },
  {
    name: 'never-scanned',
    says: 'the buyer never scans; final 60 s after the time limit',
    providers: ['alipay', 'wechat-pay'],
    isLong: true,
    plan: () => ({
      windowMs: 2_500,
      ends: CLOSED,
      payments: [{ ...NEVER, existsFrom: 'scan', expiresAfterMs: 2_500 }],
    }),
  },
  {
    name: 'authorized-only',
    says: 'the money is only held; the order waits until the shop lets go of it',
    providers: ['stripe'],
    plan: () => ({
      windowMs: 6_000,
      ends: CLOSED,
      payments: [{ script: { buyer: 'pays-after', ms: 500, authorizes: true }, isIntent: true }],
      act: async (cast) => {
        await cast.untilStatus('CLOSING');
        await cast.untilLedger(0, 'three queries', ({ queries }) => queries >= 3);
        if (!(await cast.closeByHand(0))) throw new Error('the hold could not be let go of');
      },
      breakOff: (cast) => cast.closeByHand(0),
    }),
  },
];
