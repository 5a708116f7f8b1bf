import { randomUUID } from 'node:crypto';
import { SystemClock } from '../../../../src/clock';
import { type PaymentAttemptRef, type RefundRequest } from '../../../../src/payments';
import { type WechatPayMerchant, WechatPayProvider } from '../../../../src/payments/wechat-pay';
import { FaultPlan } from '../../../../packages/payment-simulator/src/fault-plan';
import { PaymentLedger } from '../../../../packages/payment-simulator/src/payment-ledger';
import { type Reply, type SimulatorRequest } from '../../../../packages/payment-simulator/src/reply';
import { ReplyServer } from '../../../../packages/payment-simulator/src/reply-server';
import { type SimulatedPayment } from '../../../../packages/payment-simulator/src/simulated-payment';
import { SimulatorContext } from '../../../../packages/payment-simulator/src/simulator-context';
import {
  faultInput,
  type FaultInput,
  paymentInput,
  type PaymentInput,
} from '../../../../packages/payment-simulator/src/simulator-input';
import { generateWechatPayMerchants, WechatPayProtocol } from '../../../../packages/payment-simulator/src/wechat-pay';

/** The simulated WeChat Pay behind a loopback server, and providers that are configured for it. */
export class WechatPayBench {
  readonly merchants = generateWechatPayMerchants(['shop', 'other']);
  readonly clock = new SystemClock();
  readonly faults = new FaultPlan(this.clock);
  readonly ledger = new PaymentLedger(this.clock, () => undefined);
  /** `GET /wechat-pay/v3/…` of every request so far, with its headers. */
  readonly requests: { readonly line: string; readonly headers: SimulatorRequest['headers'] }[] = [];
  private readonly stopping = new AbortController();
  readonly protocol = new WechatPayProtocol(
    new SimulatorContext(this.clock, this.ledger, this.faults, this.stopping.signal),
    this.merchants,
  );
  private readonly server = new ReplyServer((request) => this.answer(request));
  private url = '';

  async open(): Promise<this> {
    this.url = await this.server.listen();
    return this;
  }

  async close(): Promise<void> {
    this.stopping.abort();
    this.ledger.stop();
    await this.server.close();
  }

  get baseUrl(): string {
    return `${this.url}/wechat-pay`;
  }

  get shop(): WechatPayMerchant {
    return this.optionsOf('shop');
  }

  optionsOf(account: 'shop' | 'other'): WechatPayMerchant {
    const merchant = this.merchants[account];
    if (!merchant) throw new TypeError(`no merchant ${account}`);
    return merchant.options;
  }

  /** Serials of the keys that the shop's answers may be signed with: the public key and the certificate. */
  get serials(): readonly string[] {
    return this.merchants['shop']?.platform.map(({ serial }) => serial) ?? [];
  }

  provider(merchant: Partial<WechatPayMerchant> = {}): WechatPayProvider {
    const merchants = { shop: { ...this.shop, ...merchant } };
    return new WechatPayProvider({ merchants, baseUrl: this.baseUrl }, this.clock);
  }

  /** A payment that a buyer could pay, and the attempt that the shop knows. */
  attempt(terms: Partial<PaymentInput> = {}): PaymentAttemptRef {
    const reference = terms.reference ?? randomUUID().replaceAll('-', '');
    this.ledger.create(
      paymentInput.parse({ provider: 'wechat-pay', amount: 1_999, currency: 'CNY', ...terms, reference }),
    );
    return { provider: 'wechat-pay', reference, amount: 1_999n, currency: 'CNY', createdAt: new Date() };
  }

  paid(terms: Partial<PaymentInput> = {}): PaymentAttemptRef {
    const attempt = this.attempt(terms);
    this.payment(attempt).pay(this.clock.now());
    return attempt;
  }

  payment({ reference }: PaymentAttemptRef): SimulatedPayment {
    const found = this.ledger.find('wechat-pay', reference);
    if (!found) throw new TypeError(`no payment ${reference}`);
    return found.payment;
  }

  fault(fault: FaultInput): void {
    this.faults.add(faultInput.parse(fault));
  }

  private async answer(request: SimulatorRequest): Promise<Reply> {
    const { method, path, headers } = request;
    this.requests.push({ line: `${method} ${path}`, headers });
    return this.protocol.answer({ ...request, path: path.replace(/^\/wechat-pay/, '') });
  }
}

/** All of the attempt back, under a number of its own. */
export function refundOf(attempt: PaymentAttemptRef, fields: Partial<RefundRequest> = {}): RefundRequest {
  return {
    attempt,
    refundNumber: randomUUID().replaceAll('-', ''),
    amount: attempt.amount,
    paidAmount: attempt.amount,
    currency: attempt.currency,
    reason: 'order was closed',
    ...fields,
  };
}
