import { type z } from 'zod';
import { type Clock } from './clock';
import { type FaultPlan } from './fault-plan';
import { type LedgerPayment, type PaymentLedger } from './payment-ledger';
import { jsonReply, type Reply } from './reply';
import { type SimulatedMerchants } from './simulated-merchants';
import { type SimulatedPayment } from './simulated-payment';
import { faultInput, paymentInput, refundInput, scriptInput } from './simulator-input';

/** Which payment is meant. */
interface Key {
  readonly provider: string;
  readonly reference: string;
  /** Of the merchant, where several use the reference. */
  readonly account?: string | undefined;
}

/** The side of the simulator that scripts and buyers talk to. Not signed: it listens on the own machine only. */
export class ScriptEndpoint {
  constructor(
    private readonly clock: Clock,
    private readonly ledger: PaymentLedger,
    private readonly globalFaults: FaultPlan,
    private readonly merchants: SimulatedMerchants,
  ) {}

  /** `POST /script/payments` */
  createPayment(body: unknown): Reply {
    const parsed = paymentInput.safeParse(body);
    if (!parsed.success) return invalid(parsed.error);
    const payment = this.ledger.create(parsed.data);
    if (!payment) return jsonReply(409, { error: `reference "${parsed.data.reference}" is taken; use another` });
    return jsonReply(201, payment.entry(this.clock.now()));
  }

  /** `POST /script/faults`: for every payment. */
  addFault(body: unknown): Reply {
    const parsed = faultInput.safeParse(body);
    if (!parsed.success) return invalid(parsed.error);
    this.globalFaults.add(parsed.data);
    return jsonReply(201, parsed.data);
  }

  /** `DELETE /script/faults`: those of single payments stay. */
  clearFaults(): Reply {
    this.globalFaults.clear();
    return jsonReply(200, {});
  }

  /** `GET /script/ledger` */
  showLedger(): Reply {
    return jsonReply(200, { now: new Date(this.clock.now()).toISOString(), payments: this.ledger.entries() });
  }

  /** `GET /script/merchants`: keys of both sides, for the adapters' options. */
  showMerchants(): Reply {
    return jsonReply(200, this.merchants);
  }

  /** `POST /script/payments/{provider}/{reference}/script`: another script for a payment that exists. */
  rescript(key: Key, body: unknown): Reply {
    const parsed = scriptInput.safeParse(body);
    if (!parsed.success) return invalid(parsed.error);
    const { faults: more, ...change } = parsed.data;
    return this.withPayment(key, ({ payment, faults }, now) => {
      payment.rescript(now, change);
      for (const fault of more) faults.add(fault);
      return jsonReply(200, payment.entry(now));
    });
  }

  /** `POST /script/payments/{provider}/{reference}/refund`: refunds `amount`, or what is left, directly at the provider. */
  refund(key: Key, body: unknown): Reply {
    const parsed = refundInput.safeParse(body ?? {});
    if (!parsed.success) return invalid(parsed.error);
    return this.withPayment(key, ({ payment }, now) => {
      const refunded = payment.refundDirectly(now, parsed.data.amount);
      return jsonReply(refunded ? 200 : 409, payment.entry(now));
    });
  }

  /** `POST /script/payments/{provider}/{reference}/fail-refund`: 409 if no refund is completed. */
  failRefund(key: Key): Reply {
    return this.withPayment(key, ({ payment }, now) =>
      jsonReply(payment.failRefund(now) ? 200 : 409, payment.entry(now)),
    );
  }

  /** `POST /script/payments/{provider}/{reference}/dispute`, by the buyer's bank: 409 if nothing was paid. */
  dispute(key: Key): Reply {
    return this.withPayment(key, ({ payment }, now) => jsonReply(payment.dispute(now) ? 200 : 409, payment.entry(now)));
  }

  /** `POST /script/payments/{provider}/{reference}/scan`, by the buyer. */
  scan(key: Key): Reply {
    return this.withPayment(key, ({ payment }, now) => {
      payment.scan(now);
      return jsonReply(200, payment.entry(now));
    });
  }

  /** `POST /script/payments/{provider}/{reference}/pay`, by the buyer: 409 if the payment is closed or expired. */
  pay(key: Key): Reply {
    return this.withPayment(key, ({ payment }, now) => {
      const result = payment.pay(now);
      return jsonReply(result === 'refused' ? 409 : 200, { result, ...payment.entry(now) });
    });
  }

  private withPayment({ provider, reference, account }: Key, act: (found: LedgerPayment, now: number) => Reply): Reply {
    const isMeant = ({ terms }: SimulatedPayment): boolean =>
      (account ?? terms.merchantAccount) === terms.merchantAccount;
    const found = this.ledger.find(provider, reference, isMeant);
    if (found) return act(found, this.clock.now());
    const error = `there is no payment "${reference}" of "${provider}"; create it with POST /script/payments`;
    return jsonReply(404, { error });
  }
}

function invalid(error: z.ZodError): Reply {
  const problems = error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  return jsonReply(422, { error: 'the script is not valid', problems });
}
