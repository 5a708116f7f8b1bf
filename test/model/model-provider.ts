import {
  CALL_LIMIT,
  type CloseOutcome,
  type QueryOutcome,
  type RefundOutcome,
  type RefundRequest,
  type UnknownOutcome,
} from '../../src/payments';
import { type Agenda } from './agenda';
import { type ProviderPayment } from './provider-payment';
import { type Random } from './random';
import { type Trace } from './trace';

/** How one provider behaves in this run. */
export interface ProviderTraits {
  readonly name: string;
  /** A query may answer what was true so long ago. */
  readonly queryLagMs: number;
  /** Share of calls that end with 5xx and no effect. */
  readonly faults: number;
  /** Share of calls that take effect, and whose answer is lost. */
  readonly losses: number;
  readonly outages: readonly { readonly fromMs: number; readonly toMs: number }[];
  /** Share of refunds that are answered with PENDING first. */
  readonly slowRefunds: number;
  /** Refunds are refused until then: the account is empty. */
  readonly refundsFromMs: number;
  /** Share of refunds that the bank sends back, hours after they were done. */
  readonly failingRefunds: number;
  /** What its clock is ahead of the database's. */
  readonly clockAheadMs: number;
  readonly tellsTime: boolean;
  /** Calls that it answers at once and then per minute; the others are refused. */
  readonly calls?: { readonly burst: number; readonly perMinute: number };
}

const TIME_OUT_MS = 5_000;
/** The longest that a call waits for its turn. */
const MAX_WAIT_MS = 5_000;
const DOWN: UnknownOutcome = { type: 'UNKNOWN', reason: 'answered 503', outage: true };
const REFUSED: UnknownOutcome = { type: 'UNKNOWN', reason: CALL_LIMIT };
const SILENT: UnknownOutcome = { type: 'UNKNOWN', reason: 'no answer within 5000 ms', outage: true };

interface Around {
  readonly agenda: Agenda;
  readonly random: Random;
  readonly trace: Trace;
  readonly refundFailed: (payment: ProviderPayment) => void;
}

/** The network and the front of one provider: requests take a while, get lost, or take effect without an answer. */
export class ModelProvider {
  private readonly payments = new Map<string, ProviderPayment>();
  /** Refunds that the provider is still working on, by number. */
  private readonly pending = new Set<string>();
  /** Refunds that the provider will not do any more. */
  private readonly failed = new Set<string>();
  private turns = Infinity;
  private turnsAtMs = 0;

  constructor(
    readonly traits: ProviderTraits,
    private readonly around: Around,
  ) {}

  get clockMs(): number {
    return this.around.agenda.nowMs + this.traits.clockAheadMs;
  }

  add(payment: ProviderPayment): void {
    const { reference, intent } = payment.traits;
    this.payments.set(reference, payment);
    if (intent !== undefined) this.payments.set(intent, payment);
  }

  all(): ProviderPayment[] {
    return [...new Set(this.payments.values())];
  }

  /** The payment with this reference. Of several payments under one reference, each is known by its own id as well. */
  find(reference: string): ProviderPayment | undefined {
    const isHere = ({ units }: ProviderPayment): boolean =>
      units.length > 1 && units.some(({ transactionId }) => transactionId === reference);
    return this.payments.get(reference) ?? this.all().find(isHere);
  }

  query(reference: string, tell: (answer: QueryOutcome) => void): void {
    this.call<QueryOutcome>(`query ${reference}`, tell, () => {
      const { agenda, random } = this.around;
      const { queryLagMs, tellsTime } = this.traits;
      const providerNow = tellsTime ? new Date(this.clockMs) : undefined;
      const payment = this.payments.get(reference);
      // Most answers are fresh.
      const lagMs = queryLagMs > 0 && random.chance(0.5) ? random.between(0, queryLagMs) : 0;
      if (payment) return payment.query(agenda.nowMs - lagMs, providerNow);
      return { type: 'NOT_FOUND', ...(providerNow ? { providerNow } : {}) };
    });
  }

  /** That this payment is paid was written by who had asked. */
  hear(reference: string): void {
    const payment = this.payments.get(reference);
    if (payment?.taken) payment.taken.isHeard = true;
    if (payment?.taken && payment.traits.reference === reference) payment.taken.isNamed = true;
  }

  close(reference: string, answered: (answer: CloseOutcome) => void): void {
    const { agenda } = this.around;
    this.call<CloseOutcome>(`close ${reference}`, answered, () => {
      const payment = this.payments.get(reference);
      if (!payment) return { type: 'NOT_FOUND' };
      return payment.close(agenda.nowMs, (ms, run) => agenda.after(ms, () => run(agenda.nowMs)));
    });
  }

  refund(request: RefundRequest, answered: (answer: RefundOutcome) => void): void {
    const { reference } = request.attempt;
    this.call<RefundOutcome>(`refund ${reference}`, answered, () => {
      const { agenda, random } = this.around;
      const { refundNumber: number, amount, transactionId } = request;
      const payment = this.find(reference);
      if (payment?.refunds.has(number)) return { type: 'REFUNDED', refundId: `r-${number}`, evidence: {} };
      if (this.pending.has(number)) return { type: 'PENDING' };
      if (this.failed.has(number)) return { type: 'REJECTED', reason: 'the refund failed' };
      if (agenda.nowMs < this.traits.refundsFromMs) return { type: 'REJECTED', reason: 'the balance is too low' };
      if (payment && random.chance(this.traits.slowRefunds))
        return this.refundLater(payment, number, amount, transactionId);
      if (!payment?.refund(number, amount, transactionId)) {
        return { type: 'REJECTED', reason: 'there is not so much to refund' };
      }
      this.mayFail(payment, number);
      return { type: 'REFUNDED', refundId: `r-${number}`, evidence: {} };
    });
  }

  /** Whether its console shows this refund as taken on. */
  isRefunding(number: string): boolean {
    return this.pending.has(number);
  }

  /** src/payments/resilience/merchant-rate-limit.ts: how long to wait for a turn; undefined: longer than anybody waits. */
  private takeTurn(): number | undefined {
    const { calls } = this.traits;
    if (!calls) return 0;
    const gained = ((this.around.agenda.nowMs - this.turnsAtMs) * calls.perMinute) / 60_000;
    this.turns = Math.min(calls.burst, this.turns + gained);
    this.turnsAtMs = this.around.agenda.nowMs;
    const waitMs = Math.max(0, ((1 - this.turns) * 60_000) / calls.perMinute);
    if (waitMs > MAX_WAIT_MS) return undefined;
    this.turns--;
    return waitMs;
  }

  /** Taken on, and not always done: then the next call has to begin it anew. */
  private refundLater(payment: ProviderPayment, number: string, amount: bigint, of?: string): RefundOutcome {
    const { agenda, random } = this.around;
    this.pending.add(number);
    agenda.after(random.between(1_000, 7_200_000), () => {
      this.pending.delete(number);
      if (random.chance(0.8) && payment.refund(number, amount, of)) this.mayFail(payment, number);
    });
    return { type: 'PENDING' };
  }

  /** The account of the buyer is gone, for example. Asked again, the provider may find another way. */
  private mayFail(payment: ProviderPayment, number: string): void {
    const { agenda, random, trace, refundFailed } = this.around;
    if (this.traits.failingRefunds === 0 || !random.chance(this.traits.failingRefunds)) return;
    agenda.after(random.between(60_000, 50 * 3_600_000), () => {
      trace.note(() => `the refund of ${payment.traits.reference} has failed`);
      payment.failRefund(number);
      if (random.chance(0.5)) this.failed.add(number);
      refundFailed(payment);
    });
  }

  /** The request reaches the provider, takes effect, and is answered; or it does not, at any of these points. */
  private call<T extends { type: string }>(
    what: string,
    answered: (answer: T | UnknownOutcome) => void,
    effect: () => T,
  ): void {
    const { agenda, random, trace } = this.around;
    const { faults, losses, name } = this.traits;
    const thereMs = random.between(2, random.chance(0.05) ? 4_500 : 80);
    const backMs = random.between(2, random.chance(0.05) ? 4_500 : 80);
    const waitMs = this.takeTurn();
    if (waitMs === undefined) return agenda.after(1, () => answered(REFUSED));
    const isLost = random.chance(losses) || thereMs + backMs >= TIME_OUT_MS;
    const fails = random.chance(faults);
    const answer = (ms: number, value: T | UnknownOutcome): void => {
      trace.note(() => `${name}: ${what} -> ${value.type}${isLost ? ' (the answer is lost)' : ''}`);
      agenda.after(isLost ? TIME_OUT_MS - thereMs : ms, () => answered(isLost ? SILENT : value));
    };
    agenda.after(waitMs + thereMs, () => {
      const isDown = this.traits.outages.some(({ fromMs, toMs }) => agenda.nowMs >= fromMs && agenda.nowMs < toMs);
      answer(backMs, fails || isDown ? DOWN : effect());
    });
  }
}
