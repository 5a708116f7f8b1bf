import { type Clock, type Timer } from '../../clock';
import { FaultPlan } from './fault-plan';
import { type LedgerEntry } from './ledger-entry';
import { SimulatedPayment } from './simulated-payment';
import { type PaymentTerms } from './simulator-input';

/** One payment and what goes wrong with it. */
export interface LedgerPayment {
  readonly payment: SimulatedPayment;
  readonly faults: FaultPlan;
}

/** All payments by reference, and the timers that let scripted buyers act when nobody asks. */
export class PaymentLedger {
  private readonly byReference = new Map<string, LedgerPayment>();
  private readonly timers = new Map<SimulatedPayment, Timer>();

  constructor(
    private readonly clock: Clock,
    private readonly onPaid: (payment: SimulatedPayment) => void,
  ) {}

  /** @returns undefined if the reference is taken. */
  create(terms: PaymentTerms): SimulatedPayment | undefined {
    if (this.byReference.has(terms.reference)) return undefined;
    const payment = new SimulatedPayment(terms, this.clock.now(), {
      paid: this.onPaid,
      planned: (planned) => this.arm(planned),
    });
    this.byReference.set(terms.reference, { payment, faults: new FaultPlan(this.clock, terms.faults) });
    this.arm(payment);
    return payment;
  }

  find(reference: string): LedgerPayment | undefined {
    return this.byReference.get(reference);
  }

  /** Every payment in the order of creation. */
  entries(): LedgerEntry[] {
    const now = this.clock.now();
    return [...this.byReference.values()].map(({ payment }) => payment.entry(now));
  }

  /** Stops all timers; scripted buyers then act only when somebody asks. */
  stop(): void {
    for (const timer of this.timers.values()) timer.cancel();
    this.timers.clear();
  }

  /** Again after every event: paying may start a processing time, and a timer may fire a millisecond early. */
  private arm(payment: SimulatedPayment): void {
    this.timers.get(payment)?.cancel();
    this.timers.delete(payment);
    const dueAt = payment.nextEventAt;
    if (dueAt === undefined) return;
    const timer = this.clock.after(Math.max(1, dueAt - this.clock.now()), () => {
      payment.advance(this.clock.now());
      this.arm(payment);
    });
    this.timers.set(payment, timer);
  }
}
