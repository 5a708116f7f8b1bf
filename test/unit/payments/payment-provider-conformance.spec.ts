import {
  type CloseOutcome,
  type PaymentAttemptRef,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
} from '../../../src/payments';
import { type ConformanceFault, describePaymentProvider, type PaymentProviderBench } from '../../../src/testing';
import { anAttempt } from './an-attempt';

/** A provider in memory that keeps the contract; the mutants below each break it in one way. */
class MemoryBench implements PaymentProviderBench {
  readonly provider = {
    name: 'memory',
    refundsInPart: true,
    query: (attempt: PaymentAttemptRef, signal: AbortSignal) => this.query(attempt, signal),
    close: (attempt: PaymentAttemptRef, signal: AbortSignal) => this.close(attempt, signal),
    refund: (refund: RefundRequest, signal: AbortSignal) => this.refund(refund, signal),
  };
  /** Refunded, by reference and then by number. */
  readonly refunds = new Map<string, Map<string, bigint>>();
  readonly states = new Map<string, 'OPEN' | 'PAID' | 'CLOSED'>();
  fault: ConformanceFault | undefined;
  private count = 0;

  openAttempt = async (): Promise<PaymentAttemptRef> => {
    const attempt = anAttempt({ reference: `r${(this.count += 1)}` });
    this.states.set(attempt.reference, 'OPEN');
    return attempt;
  };
  unknownAttempt = async (): Promise<PaymentAttemptRef> => anAttempt({ reference: 'unknown' });
  pay = async ({ reference }: PaymentAttemptRef): Promise<boolean> => {
    if (this.states.get(reference) !== 'OPEN') return false;
    this.states.set(reference, 'PAID');
    return true;
  };
  refunded = async ({ reference }: PaymentAttemptRef): Promise<bigint> => {
    return [...(this.refunds.get(reference)?.values() ?? [])].reduce((sum, amount) => sum + amount, 0n);
  };
  inject = async (fault: ConformanceFault): Promise<() => Promise<void>> => {
    this.fault = fault;
    return async () => (this.fault = undefined);
  };

  async query({ reference, amount, currency }: PaymentAttemptRef, signal: AbortSignal): Promise<QueryOutcome> {
    await this.reached(signal);
    const type = this.states.get(reference) ?? 'NOT_FOUND';
    if (type !== 'PAID') return { type };
    return { type, amount, currency, paidAt: new Date(), transactionId: 't', evidence: {} };
  }

  async close({ reference }: PaymentAttemptRef, signal: AbortSignal): Promise<CloseOutcome> {
    if (this.fault === 'answers-lost') this.states.set(reference, 'CLOSED');
    await this.reached(signal);
    const state = this.states.get(reference);
    if (state === 'OPEN') this.states.set(reference, 'CLOSED');
    const answers = { OPEN: 'CLOSED', PAID: 'PAID', CLOSED: 'ALREADY_CLOSED' } as const;
    return { type: state ? answers[state] : 'NOT_FOUND' };
  }

  async refund(refund: RefundRequest, signal: AbortSignal): Promise<RefundOutcome> {
    if (this.fault === 'answers-lost' || this.fault === 'forged') await this.makeRefund(refund);
    await this.reached(signal);
    return this.makeRefund(refund);
  }

  async makeRefund({ attempt, refundNumber, amount }: RefundRequest): Promise<RefundOutcome> {
    const done = this.refunds.get(attempt.reference) ?? new Map<string, bigint>();
    const isFree = this.states.get(attempt.reference) === 'PAID' && !done.has(refundNumber);
    if (isFree && (await this.refunded(attempt)) + amount <= attempt.amount) done.set(refundNumber, amount);
    this.refunds.set(attempt.reference, done);
    if (!done.has(refundNumber)) return { type: 'REJECTED', reason: 'nothing to refund' };
    return { type: 'REFUNDED', refundId: refundNumber, evidence: {} };
  }

  protected async reached(signal: AbortSignal): Promise<void> {
    if (this.fault === 'silent') await new Promise((resolve) => signal.addEventListener('abort', resolve));
    if (signal.aborted || this.fault) throw new Error('no usable answer');
  }
}

const QUICK_FAULTS: readonly ConformanceFault[] = ['failing', 'forged', 'answers-lost'];
const FAULTS: readonly ConformanceFault[] = ['silent', ...QUICK_FAULTS];

async function failuresOf(bench: MemoryBench, faults = FAULTS): Promise<string[]> {
  const failed: string[] = [];
  for (const each of describePaymentProvider(() => bench, faults)) await each.run().catch(() => failed.push(each.name));
  return failed;
}

describe('the conformance suite of payment providers', () => {
  it('passes for a provider that keeps the contract', async () => {
    expect(await failuresOf(new MemoryBench())).toEqual([]);
  });

  it('asks a provider for no part of a payment if it refunds none', async () => {
    const bench = new MemoryBench();
    bench.provider.refundsInPart = false;
    const refund = bench.refund.bind(bench);
    bench.refund = async (request, signal) =>
      request.amount < request.attempt.amount
        ? { type: 'REJECTED', reason: 'all or nothing' }
        : refund(request, signal);
    expect(await failuresOf(bench)).toEqual([]);
  });

  it('skips the cases of faults that the bench cannot inject', () => {
    const all = describePaymentProvider(() => new MemoryBench(), FAULTS);
    expect(describePaymentProvider(() => new MemoryBench()).length).toBeLessThan(all.length);
  });

  it.each<[string, (bench: MemoryBench) => void, RegExp]>([
    [
      'answers CLOSED but lets the buyer pay',
      (bench) => (bench.close = async () => ({ type: 'CLOSED' })),
      /buyer is refused/,
    ],
    [
      'takes what is not there for closed',
      (bench) => (bench.query = async () => ({ type: 'CLOSED' })),
      /never heard of/,
    ],
    [
      'closes when it is asked only',
      (bench) => {
        const query = bench.query.bind(bench);
        bench.query = async (attempt, signal) => {
          const outcome = await query(attempt, signal);
          if (outcome.type === 'OPEN') bench.states.set(attempt.reference, 'CLOSED');
          return outcome;
        };
      },
      /changes nothing/,
    ],
    [
      'refunds the money on close',
      (bench) => {
        const close = bench.close.bind(bench);
        bench.close = async (attempt, signal) => {
          const outcome = await close(attempt, signal);
          if (outcome.type === 'PAID') bench.states.set(attempt.reference, 'CLOSED');
          return outcome;
        };
      },
      /leaves the payment alone/,
    ],
    [
      'takes an error for unpaid',
      (bench) => {
        const query = bench.query.bind(bench);
        bench.query = (attempt, signal) => query(attempt, signal).catch(() => ({ type: 'OPEN' }));
      },
      /server error/,
    ],
    [
      'believes a forged answer',
      (bench) => {
        const close = bench.close.bind(bench);
        bench.close = (attempt, signal) =>
          bench.fault === 'forged' ? Promise.resolve({ type: 'CLOSED' }) : close(attempt, signal);
      },
      /forged/,
    ],
    [
      'cannot close twice',
      (bench) => {
        const close = bench.close.bind(bench);
        bench.close = async (attempt, signal) => {
          const outcome = await close(attempt, signal);
          return outcome.type === 'ALREADY_CLOSED' ? { type: 'UNKNOWN', reason: 'state error' } : outcome;
        };
      },
      /closing twice/,
    ],
    [
      'refunds again for the same number',
      (bench) => (bench.refund = async (refund) => bench.makeRefund({ ...refund, refundNumber: `${Math.random()}` })),
      /twice refunds the money once/,
    ],
    [
      'says REFUNDED without giving anything back',
      (bench) => (bench.refund = async () => ({ type: 'REFUNDED', refundId: 'r', evidence: {} })),
      /paid attempt can be refunded/,
    ],
    [
      'refunds all when asked for a part',
      (bench) => (bench.refund = async (refund) => bench.makeRefund({ ...refund, amount: refund.attempt.amount })),
      /a part, and then the rest/,
    ],
    [
      'takes an unpaid attempt for refunded',
      (bench) => {
        const refund = bench.refund.bind(bench);
        bench.refund = async (request, signal) => {
          const outcome = await refund(request, signal);
          return outcome.type === 'REJECTED' ? { type: 'REFUNDED', refundId: 'r', evidence: {} } : outcome;
        };
      },
      /nobody paid/,
    ],
    [
      'takes a lost answer for a rejection',
      (bench) => {
        const refund = bench.refund.bind(bench);
        bench.refund = (request, signal) =>
          refund(request, signal).catch(() => ({ type: 'REJECTED', reason: 'no answer' }));
      },
      /refund whose answer was lost/,
    ],
    [
      'believes a forged answer to a refund',
      (bench) => {
        const refund = bench.refund.bind(bench);
        bench.refund = (request, signal) =>
          bench.fault === 'forged'
            ? Promise.resolve({ type: 'REFUNDED', refundId: 'r', evidence: {} })
            : refund(request, signal);
      },
      /forged answer to a refund/,
    ],
    [
      'refunds although it was told to stop',
      (bench) => (bench.refund = (request) => bench.makeRefund(request)),
      /aborted signal ends without a conclusion, and can be repeated/,
    ],
  ])('finds a provider that %s', async (_, breakIt, finding) => {
    const bench = new MemoryBench();
    breakIt(bench);
    expect((await failuresOf(bench, QUICK_FAULTS)).some((name) => finding.test(name))).toBe(true);
  });
});
