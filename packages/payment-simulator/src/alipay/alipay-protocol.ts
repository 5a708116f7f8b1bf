import { type PaymentEvent } from '../payment-hooks';
import { type LedgerPayment } from '../payment-ledger';
import { type NotificationPost, type ProtocolContext, type SimulatedProtocol } from '../protocol';
import { jsonReply, type Reply, type SimulatorRequest } from '../reply';
import { type SimulatedPayment } from '../simulated-payment';
import { type Operation } from '../simulator-input';
import { type AlipaySimulatedMerchant, type AlipaySimulatedMerchants } from './alipay-merchants';
import { alipayNotice } from './alipay-notice';
import { type AlipayBody, alipayError, signedAnswer, unsignedError } from './alipay-reply';
import { type AlipayRequest, readAlipayRequest } from './alipay-request';
import { AlipayTrades } from './alipay-trades';

type Effect = (request: AlipayRequest, payment: SimulatedPayment | undefined, now: number) => AlipayBody;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** The side of Alipay: `POST /alipay/gateway.do` and its notifications. */
export class AlipayProtocol implements SimulatedProtocol {
  readonly provider = 'alipay';
  readonly retryDelaysMs = [
    ...[4, 10, 10].map((minutes) => minutes * MINUTE_MS),
    ...[1, 2, 6, 15].map((hours) => hours * HOUR_MS),
  ];
  private readonly trades: AlipayTrades;
  private cancelCalls = 0;

  constructor(
    private readonly context: ProtocolContext,
    private readonly merchants: AlipaySimulatedMerchants,
  ) {
    this.trades = new AlipayTrades(this.provider, context.ledger);
  }

  /** How often the method was called that refunds a trade that it finds paid. */
  get cancels(): number {
    return this.cancelCalls;
  }

  async answer(request: SimulatorRequest): Promise<Reply> {
    if (!request.path.startsWith('/gateway.do') || request.method !== 'POST') {
      return jsonReply(404, { error: `Alipay has nothing at ${request.method} ${request.path}` });
    }
    const read = readAlipayRequest(request, this.merchants, this.context.clock.now());
    if (!('subCode' in read)) return this.dispatch(read);
    const { merchant, method, subCode } = read;
    if (!merchant || method === undefined) return unsignedError(subCode);
    return signedAnswer(merchant, method, alipayError('40002', subCode), undefined);
  }

  notification(payment: SimulatedPayment, event: PaymentEvent): NotificationPost | undefined {
    const [merchant] = this.merchantOf(payment);
    // A refund that Alipay confirms stays with the buyer, if need be in his balance. Complaints have an API of their own.
    if (event === 'refund-failed' || event === 'disputed') return undefined;
    return merchant && alipayNotice(payment, event, merchant, this.context.clock.now());
  }

  isAcknowledged(_status: number, body: string): boolean {
    return body === 'success';
  }

  private dispatch(request: AlipayRequest): Reply | Promise<Reply> {
    const { trades } = this;
    const now = this.context.clock.now();
    switch (request.method) {
      case 'alipay.trade.query':
        return this.perform('query', request, (...call) => trades.query(...call));
      case 'alipay.trade.close':
        return this.perform('close', request, (...call) => trades.close(...call));
      case 'alipay.trade.refund':
        return this.perform('refund', request, (...call) => trades.refund(...call));
      case 'alipay.trade.fastpay.refund.query':
        return this.perform('query', request, (...call) => trades.refundQuery(...call));
      case 'alipay.trade.precreate':
        return sign(request, trades.create(request, 'scan', now));
      case 'alipay.trade.create':
        return sign(request, trades.create(request, 'creation', now));
      case 'alipay.trade.cancel':
        this.cancelCalls += 1;
        return sign(request, trades.cancel(request, this.find(request), now));
      default:
        return sign(request, alipayError('40002', 'isv.invalid-method'));
    }
  }

  private async perform(operation: Operation, request: AlipayRequest, effect: Effect): Promise<Reply> {
    const found = this.find(request);
    const performed = await this.context.perform(operation, found, () =>
      effect(request, found?.payment, this.context.clock.now()),
    );
    if (performed.type === 'reply') return performed.reply;
    if (performed.type === 'done') return sign(request, performed.value, performed.fault);
    const isNotFound = performed.fault.fault === 'not-found';
    return sign(request, isNotFound ? this.trades.notFound(request) : alipayError('40005', 'isv.app-call-limited'));
  }

  /** The payment, if it is one of the merchant who asks. */
  private find({ account, content }: AlipayRequest): LedgerPayment | undefined {
    const { ledger } = this.context;
    const { trade_no: tradeNo, out_trade_no: number = '' } = content;
    const isMeant = (payment: SimulatedPayment): boolean => this.merchantOf(payment)[1] === account;
    if (tradeNo !== undefined) return ledger.findTransaction(this.provider, tradeNo, isMeant);
    return ledger.find(this.provider, number, isMeant);
  }

  private merchantOf({ terms }: SimulatedPayment): [merchant: AlipaySimulatedMerchant | undefined, account: string] {
    const account = terms.merchantAccount ?? Object.keys(this.merchants)[0] ?? '';
    return [Object.hasOwn(this.merchants, account) ? this.merchants[account] : undefined, account];
  }
}

function sign(
  { merchant, method }: AlipayRequest,
  body: AlipayBody,
  fault?: Parameters<typeof signedAnswer>[3],
): Reply {
  return signedAnswer(merchant, method, body, fault);
}
