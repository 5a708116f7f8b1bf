import { parseJson } from '../parse-json';
import { type PaymentEvent } from '../payment-hooks';
import { type LedgerPayment } from '../payment-ledger';
import { type NotificationPost, type ProtocolContext, type SimulatedProtocol } from '../protocol';
import { jsonReply, type Reply, type SimulatorRequest } from '../reply';
import { type SimulatedPayment } from '../simulated-payment';
import { type Operation } from '../simulator-input';
import { type AuthorizedShop, authorizeShop } from './authorize-shop';
import { createNative } from './create-native';
import { listCertificates } from './list-certificates';
import { signedWechatPayReply } from './signed-wechat-pay-reply';
import {
  type WechatPayPlatformKey,
  type WechatPaySimulatedMerchant,
  type WechatPaySimulatedMerchants,
} from './wechat-pay-merchants';
import { wechatPayNotice } from './wechat-pay-notice';
import { orderRefund, queryRefund, refundOrder } from './wechat-pay-refunds';
import { wechatPayError, type WechatPayResult } from './wechat-pay-result';
import { closeTransaction, queryTransaction } from './wechat-pay-transactions';

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000] as const;

/** A request whose signature was right. */
interface Call extends AuthorizedShop {
  readonly request: SimulatorRequest;
  /** `GET v3/certificates`, without the query string. */
  readonly route: string;
  readonly body: unknown;
}

type Payment = SimulatedPayment | undefined;

/** The side of WeChat Pay, API v3: native payments, query, close, refunds, certificates, notifications. */
export class WechatPayProtocol implements SimulatedProtocol {
  readonly provider = 'wechat-pay';
  readonly retryDelaysMs = [
    ...[15, 15, 30].map((seconds) => seconds * SECOND),
    ...[3, 10, 20, 30, 30, 30, 60].map((minutes) => minutes * MINUTE),
    ...[3, 3, 3, 6, 6].map((hours) => hours * HOUR),
  ];
  /** By account and the shop's number of the refund, which is all that a query of a refund names. */
  private readonly refunded = new Map<string, LedgerPayment>();
  private signingSerial: string | undefined;

  constructor(
    private readonly context: ProtocolContext,
    private readonly merchants: WechatPaySimulatedMerchants,
  ) {}

  /**
   * From now on everything is signed with the platform key of this serial, whatever the shop asks for: WeChat Pay's
   * change from one key to another. Undefined: as the shop asks for in Wechatpay-Serial, else with the first.
   */
  signWith(serial: string | undefined): void {
    this.signingSerial = serial;
  }

  async answer(request: SimulatorRequest): Promise<Reply> {
    const shop = authorizeShop(request, this.merchants, `/${this.provider}`, this.context.clock.now());
    // Not signed: WeChat Pay does not know whom it would sign for.
    if (typeof shop === 'string') return jsonReply(401, { code: 'SIGN_ERROR', message: shop });
    const route = `${request.method} ${request.path.replace(/^\//, '').replace(/\?.*$/s, '')}`;
    return this.dispatch({ ...shop, request, route, body: parseJson(request.body) });
  }

  notification(payment: SimulatedPayment, event: PaymentEvent): NotificationPost | undefined {
    const [, merchant] = this.merchantOf(payment);
    if (!merchant || event === 'closed' || event === 'disputed') return undefined;
    const now = this.context.clock.now();
    const key = this.keyOf(merchant, undefined);
    return wechatPayNotice(payment.entry(now), event, merchant, key, now);
  }

  isAcknowledged(status: number): boolean {
    return status === 200 || status === 204;
  }

  private dispatch(call: Call): Reply | Promise<Reply> {
    const { route, merchant, body } = call;
    const { clock, ledger } = this.context;
    if (route === 'GET v3/certificates') return this.sign(call, listCertificates(merchant, clock.now()));
    if (route === 'POST v3/pay/transactions/native') {
      return this.sign(call, createNative(this.provider, ledger, call, body, clock.now()));
    }
    if (route === 'POST v3/refund/domestic/refunds') return this.refund(call);
    const [, refundNumber] = /^GET v3\/refund\/domestic\/refunds\/([^/]+)$/.exec(route) ?? [];
    if (refundNumber !== undefined) return this.findRefund(call, decodeURIComponent(refundNumber));
    const [, method, number, close] =
      /^(GET|POST) v3\/pay\/transactions\/out-trade-no\/([^/]+)(\/close)?$/.exec(route) ?? [];
    if (number === undefined || (method === 'POST') !== (close !== undefined)) {
      return jsonReply(404, { code: 'RESOURCE_NOT_EXISTS', message: `there is nothing at ${route}` });
    }
    return this.transaction(close === undefined ? 'query' : 'close', call, decodeURIComponent(number));
  }

  private transaction(operation: 'query' | 'close', call: Call, number: string): Reply | Promise<Reply> {
    const { merchant, request, body } = call;
    const { mchid } = operation === 'query' ? Object.fromEntries(request.query) : ((body ?? {}) as { mchid?: unknown });
    if (mchid !== merchant.options.mchid) return this.sign(call, wechatPayError('PARAM_ERROR', 'mchid'));
    return this.perform(operation, call, this.find(number, call.account), (payment, now) =>
      operation === 'query' ? queryTransaction(payment, merchant, now) : closeTransaction(payment, now),
    );
  }

  private refund(call: Call): Reply | Promise<Reply> {
    const order = refundOrder.safeParse(call.body).data;
    if (!order) return this.sign(call, wechatPayError('PARAM_ERROR'));
    const found =
      order.transaction_id === undefined
        ? this.find(order.out_trade_no ?? '', call.account)
        : this.findTransaction(order.transaction_id, call.account);
    if (found) this.refunded.set(`${call.account} ${order.out_refund_no}`, found);
    return this.perform('refund', call, found, (payment, now) => orderRefund(payment, order, now));
  }

  private findRefund(call: Call, number: string): Promise<Reply> {
    const found = this.refunded.get(`${call.account} ${number}`);
    return this.perform('refund', call, found, (payment, now) => queryRefund(payment, number, now));
  }

  private async perform(
    operation: Operation,
    call: Call,
    found: LedgerPayment | undefined,
    effect: (payment: Payment, now: number) => WechatPayResult,
  ): Promise<Reply> {
    const performed = await this.context.perform(operation, found, () =>
      effect(found?.payment, this.context.clock.now()),
    );
    if (performed.type === 'reply') return performed.reply;
    if (performed.type === 'done') return this.sign(call, performed.value, performed.fault);
    const isMissing = performed.fault.fault === 'not-found';
    return this.sign(call, wechatPayError(isMissing ? 'ORDER_NOT_EXIST' : 'FREQUENCY_LIMITED'));
  }

  private sign(
    { merchant, request }: Call,
    result: WechatPayResult,
    fault?: Parameters<typeof signedWechatPayReply>[3],
  ): Reply {
    const key = this.keyOf(merchant, request.headers['wechatpay-serial']);
    return signedWechatPayReply(result, key, this.context.clock.now(), fault);
  }

  private keyOf({ platform }: WechatPaySimulatedMerchant, asked: string | string[] | undefined): WechatPayPlatformKey {
    const wanted = this.signingSerial ?? asked;
    const key = platform.find(({ serial }) => serial === wanted) ?? platform[0];
    if (!key) throw new RangeError('a simulated merchant of WeChat Pay has no platform key');
    return key;
  }

  /** The payment, if it is one of the merchant who asks. */
  private find(number: string, account: string): LedgerPayment | undefined {
    return this.context.ledger.find(this.provider, number, (payment) => this.merchantOf(payment)[0] === account);
  }

  private findTransaction(id: string, account: string): LedgerPayment | undefined {
    return this.context.ledger.findTransaction(this.provider, id, (payment) => this.merchantOf(payment)[0] === account);
  }

  private merchantOf({ terms }: SimulatedPayment): [account: string, merchant: WechatPaySimulatedMerchant | undefined] {
    const account = terms.merchantAccount ?? Object.keys(this.merchants)[0] ?? '';
    return [account, Object.hasOwn(this.merchants, account) ? this.merchants[account] : undefined];
  }
}
