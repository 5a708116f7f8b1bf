import { type Clock, type Timer } from './clock';
import { FaultPlan } from './fault-plan';
import { type LedgerEntry } from './ledger-entry';
import { type PaymentEvent } from './payment-hooks';
import { referenceOf, SimulatedPayment } from './simulated-payment';
import { type PaymentTerms } from './simulator-input';

/** One payment and what goes wrong with it. */
export interface LedgerPayment {
  readonly payment: SimulatedPayment;
  readonly faults: FaultPlan;
}

/** All payments by provider, merchant and reference, and the timers that let scripted buyers act when nobody asks. */
export class PaymentLedger {
  private readonly byKey = new Map<string, readonly LedgerPayment[]>();
  private readonly timers = new Map<SimulatedPayment, Timer>();

  constructor(
    private readonly clock: Clock,
    private readonly happened: (payment: SimulatedPayment, event: PaymentEvent) => void,
  ) {}

  /** @returns undefined if the merchant has used the reference. Merchants of one provider may number alike. */
  create(terms: PaymentTerms): SimulatedPayment | undefined {
    const key = keyOf(terms.provider, terms.reference);
    const same = this.byKey.get(key) ?? [];
    if (same.some(({ payment }) => mayBeOneMerchant(payment.terms, terms))) return undefined;
    const payment = new SimulatedPayment(terms, this.clock.now(), {
      happened: this.happened,
      planned: (planned) => this.arm(planned),
    });
    this.byKey.set(key, [...same, { payment, faults: new FaultPlan(this.clock, terms.faults) }]);
    this.arm(payment);
    return payment;
  }

  /** @param isMeant where several merchants use the reference: whose is wanted. @default the one that was made first */
  find(
    provider: string,
    reference: string,
    isMeant: (payment: SimulatedPayment) => boolean = () => true,
  ): LedgerPayment | undefined {
    return this.byKey.get(keyOf(provider, reference))?.find(({ payment }) => isMeant(payment));
  }

  /** The payment that took money under this number of the provider. */
  findTransaction(
    provider: string,
    transactionId: string,
    isMeant: (payment: SimulatedPayment) => boolean = () => true,
  ): LedgerPayment | undefined {
    const has = (payment: SimulatedPayment): boolean => payment.entry(this.clock.now()).transactionId === transactionId;
    return this.find(provider, referenceOf(transactionId), (payment) => isMeant(payment) && has(payment));
  }

  /** Every payment in the order of creation; those of one reference together. */
  entries(): LedgerEntry[] {
    const now = this.clock.now();
    return [...this.byKey.values()].flat().map(({ payment }) => payment.entry(now));
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

/** A payment without an account belongs to a merchant whose name is not known here. */
function mayBeOneMerchant(
  { merchantAccount: one }: Pick<PaymentTerms, 'merchantAccount'>,
  { merchantAccount: other }: Pick<PaymentTerms, 'merchantAccount'>,
): boolean {
  return one === undefined || other === undefined || one === other;
}

/** The provider's name has no slash, so only payments of several merchants share a key. */
function keyOf(provider: string, reference: string): string {
  return `${provider}/${reference}`;
}
