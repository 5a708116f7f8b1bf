import { type Clock, SystemClock } from '../../../../src/clock';
import { type PaymentAttemptRef, type RefundRequest } from '../../../../src/payments';
import { StripeProvider } from '../../../../src/payments/stripe';
import { FaultPlan } from '../../../../packages/payment-simulator/src/fault-plan';
import { type PaymentEvent } from '../../../../packages/payment-simulator/src/payment-hooks';
import { PaymentLedger } from '../../../../packages/payment-simulator/src/payment-ledger';
import { type NotificationPost } from '../../../../packages/payment-simulator/src/protocol';
import { type Reply, type SimulatorRequest } from '../../../../packages/payment-simulator/src/reply';
import { ReplyServer } from '../../../../packages/payment-simulator/src/reply-server';
import { type SimulatedPayment } from '../../../../packages/payment-simulator/src/simulated-payment';
import { SimulatorContext } from '../../../../packages/payment-simulator/src/simulator-context';
import {
  type FaultInput,
  faultInput,
  type PaymentInput,
  paymentInput,
} from '../../../../packages/payment-simulator/src/simulator-input';
import { generateStripeMerchants, StripeProtocol } from '../../../../packages/payment-simulator/src/stripe';
import { anAttempt } from '../an-attempt';

/** What a shop sent. */
interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly headers: SimulatorRequest['headers'];
  readonly body: string;
}

/** The simulator's side of Stripe on a loopback port, and the adapter that talks to it. */
export class StripeBench {
  readonly merchants = generateStripeMerchants(['shop', 'other']);
  readonly ledger: PaymentLedger;
  readonly faults: FaultPlan;
  readonly protocol: StripeProtocol;
  /** Requests in the order of their arrival. */
  readonly sent: SentRequest[] = [];
  /** Answers the next requests instead of the simulator, one each. */
  readonly canned: { status: number; body: unknown; headers?: Record<string, string> }[] = [];
  readonly posts: NotificationPost[] = [];
  private readonly stopping = new AbortController();
  private readonly server: ReplyServer;
  private url = '';
  private count = 0;

  constructor(readonly clock: Clock = new SystemClock()) {
    this.faults = new FaultPlan(clock);
    this.ledger = new PaymentLedger(clock, (payment, event) => this.announce(payment, event));
    const context = new SimulatorContext(clock, this.ledger, this.faults, this.stopping.signal);
    this.protocol = new StripeProtocol(context, this.merchants);
    this.server = new ReplyServer((request) => this.answer(request));
  }

  async start(): Promise<this> {
    this.url = await this.server.listen();
    return this;
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.ledger.stop();
    await this.server.close();
  }

  get baseUrl(): string {
    return `${this.url}/stripe`;
  }

  provider(options: Partial<ConstructorParameters<typeof StripeProvider>[0]> = {}): StripeProvider {
    return new StripeProvider({ merchants: this.merchants, baseUrl: this.baseUrl, ...options }, this.clock);
  }

  /** A new payment at Stripe, and the attempt it is known by. */
  attempt(kind: 'pi' | 'cs', terms: Partial<PaymentInput> = {}): PaymentAttemptRef {
    const reference = `${kind}_${(this.count += 1)}`;
    const { amount, currency, createdAt } = anAttempt();
    const money = { amount: String(amount), currency, merchantAccount: 'shop' };
    this.ledger.create(paymentInput.parse({ provider: 'stripe', reference, ...money, ...terms }));
    return { provider: 'stripe', reference, merchantAccount: 'shop', amount, currency, createdAt };
  }

  payment({ reference }: PaymentAttemptRef): SimulatedPayment {
    const found = this.ledger.find('stripe', reference);
    if (!found) throw new Error(`there is no ${reference}`);
    return found.payment;
  }

  pay(attempt: PaymentAttemptRef): boolean {
    return this.payment(attempt).pay(this.clock.now()) === 'accepted';
  }

  status(attempt: PaymentAttemptRef): string {
    return this.payment(attempt).entry(this.clock.now()).status;
  }

  refundOf(attempt: PaymentAttemptRef, fields: Partial<RefundRequest> = {}): RefundRequest {
    const { amount, currency } = attempt;
    return { attempt, refundNumber: '0'.repeat(32), amount, paidAmount: amount, currency, reason: 'late', ...fields };
  }

  fault(fault: FaultInput): void {
    this.faults.add(faultInput.parse(fault));
  }

  private announce(payment: SimulatedPayment, event: PaymentEvent): void {
    const post = this.protocol.notification(payment, event);
    if (post) this.posts.push(post);
  }

  private async answer(request: SimulatorRequest): Promise<Reply> {
    const { method, headers } = request;
    const path = request.path.replace(/^\/stripe/, '');
    const body = Buffer.from(request.body).toString();
    this.sent.push({ method, path, headers, key: headers['idempotency-key'] as string, body });
    const canned = this.canned.shift();
    if (!canned) return this.protocol.answer({ ...request, path });
    const text = typeof canned.body === 'string' ? canned.body : JSON.stringify(canned.body);
    return { type: 'answer', status: canned.status, body: text, ...(canned.headers && { headers: canned.headers }) };
  }
}
