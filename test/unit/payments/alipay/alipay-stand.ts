import { AlipaySdk } from 'alipay-sdk';
import { type Clock } from '../../../../src/clock';
import { AlipayProvider } from '../../../../src/payments/alipay';
import { AlipayProtocol, generateAlipayMerchants } from '../../../../packages/payment-simulator/src/alipay';
import { FaultPlan } from '../../../../packages/payment-simulator/src/fault-plan';
import { type PaymentEvent } from '../../../../packages/payment-simulator/src/payment-hooks';
import { PaymentLedger } from '../../../../packages/payment-simulator/src/payment-ledger';
import { type NotificationPost } from '../../../../packages/payment-simulator/src/protocol';
import { ReplyServer } from '../../../../packages/payment-simulator/src/reply-server';
import { type SimulatedPayment } from '../../../../packages/payment-simulator/src/simulated-payment';
import { SimulatorContext } from '../../../../packages/payment-simulator/src/simulator-context';
import {
  faultInput,
  type FaultInput,
  type PaymentInput,
  paymentInput,
} from '../../../../packages/payment-simulator/src/simulator-input';

const merchants = generateAlipayMerchants(['shop', 'other']);

/** Alipay's protocol alone behind HTTP, with its ledger at hand, and a shop that talks to it. */
export class AlipayStand {
  readonly posts: NotificationPost[] = [];
  readonly faults: FaultPlan;
  readonly ledger: PaymentLedger;
  readonly protocol: AlipayProtocol;
  private readonly server: ReplyServer;
  private url = '';

  constructor(readonly clock: Clock) {
    const stopping = new AbortController().signal;
    this.faults = new FaultPlan(clock);
    this.ledger = new PaymentLedger(clock, (payment, event) => this.tell(payment, event));
    this.protocol = new AlipayProtocol(new SimulatorContext(clock, this.ledger, this.faults, stopping), merchants);
    this.server = new ReplyServer((request) => this.protocol.answer(request));
  }

  async start(): Promise<void> {
    this.url = await this.server.listen();
  }

  async stop(): Promise<void> {
    this.ledger.stop();
    await this.server.close();
  }

  /** The adapter, with both merchants. */
  provider(): AlipayProvider {
    const known = Object.entries(merchants).map(([account, merchant]) => {
      const { appId, sellerId, privateKey, alipayPublicKey } = merchant;
      return [account, { appId, sellerId, privateKey, alipayPublicKey }] as const;
    });
    return new AlipayProvider({ merchants: Object.fromEntries(known), gateway: this.gateway }, this.clock);
  }

  /** A call of the shop's own, as its checkout makes it with the SDK. */
  call(method: string, bizContent: Record<string, unknown>, more: Record<string, string> = {}) {
    const { appId, privateKey, alipayPublicKey } = merchants['shop'] ?? { appId: '', privateKey: '' };
    const { gateway } = this;
    const config = { appId, privateKey, keyType: 'PKCS8', gateway, camelcase: false } as const;
    const sdk = new AlipaySdk(alipayPublicKey === undefined ? config : { ...config, alipayPublicKey });
    return sdk.exec(method, { bizContent, ...more }, { validateSign: true }) as Promise<Record<string, string>>;
  }

  create(input: Partial<PaymentInput> & { reference: string }): SimulatedPayment {
    const terms = { provider: 'alipay', merchantAccount: 'shop', amount: 8_888, currency: 'CNY', ...input };
    const payment = this.ledger.create(paymentInput.parse(terms));
    if (!payment) throw new Error(`${input.reference} is taken`);
    return payment;
  }

  break(fault: FaultInput): void {
    this.faults.add(faultInput.parse(fault));
  }

  get gateway(): string {
    return `${this.url}/gateway.do`;
  }

  private tell(payment: SimulatedPayment, event: PaymentEvent): void {
    const post = this.protocol.notification(payment, event);
    if (post) this.posts.push(post);
  }
}
