import { type z } from 'zod';
import { type Clock } from '../../clock';
import { type FaultPlan } from './fault-plan';
import { type PaymentLedger } from './payment-ledger';
import { jsonReply, type Reply } from './reply';
import { faultInput, paymentInput } from './simulator-input';

/** The side of the simulator that scripts and buyers talk to. Not signed: it listens on the own machine only. */
export class ScriptEndpoint {
  constructor(
    private readonly clock: Clock,
    private readonly ledger: PaymentLedger,
    private readonly globalFaults: FaultPlan,
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

  /** `POST /script/payments/{reference}/refund` */
  refund(reference: string): Reply {
    const payment = this.ledger.find(reference)?.payment;
    if (!payment) return noSuchPayment(reference);
    const refunded = payment.refund(this.clock.now());
    return jsonReply(refunded ? 200 : 409, payment.entry(this.clock.now()));
  }

  /** `POST /payments/{reference}/pay`, by the buyer: 409 if the payment is closed or expired. */
  pay(reference: string): Reply {
    const payment = this.ledger.find(reference)?.payment;
    if (!payment) return noSuchPayment(reference);
    const result = payment.pay(this.clock.now());
    return jsonReply(result === 'refused' ? 409 : 200, { result, ...payment.entry(this.clock.now()) });
  }
}

function invalid(error: z.ZodError): Reply {
  const problems = error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  return jsonReply(422, { error: 'the script is not valid', problems });
}

function noSuchPayment(reference: string): Reply {
  return jsonReply(404, { error: `there is no payment "${reference}"; create it with POST /script/payments` });
}
