import { type PaymentLedger, type LedgerPayment } from '../payment-ledger';
import { type SimulatedPayment } from '../simulated-payment';
import { paymentInput } from '../simulator-input';
import { type LedgerEntry } from '../ledger-entry';
import { type AlipayBody, alipayError } from './alipay-reply';
import { type AlipayRequest } from './alipay-request';
import { alipayTime, readAlipayTime, readYuan, yuan } from './alipay-text';

const SUCCESS = { code: '10000', msg: 'Success' };
const NOT_EXIST = 'ACQ.TRADE_NOT_EXIST';
/** Why a refund is refused, in Alipay's words. */
const REFUND_REFUSALS = {
  'not-paid': 'ACQ.TRADE_STATUS_ERROR',
  'too-much': 'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL',
  scripted: 'ACQ.SELLER_BALANCE_NOT_ENOUGH',
} as const;

/** What the calls of `alipay.trade.*` do to the ledger and say of it. */
export class AlipayTrades {
  /** @param ledger keeps the trades under `provider`. */
  constructor(
    private readonly provider: string,
    private readonly ledger: PaymentLedger,
  ) {}

  /** As Alipay answers about a trade that it has never heard of. */
  notFound({ content }: AlipayRequest): AlipayBody {
    return alipayError('40004', NOT_EXIST, { out_trade_no: content['out_trade_no'] ?? '', receipt_amount: '0.00' });
  }

  query(request: AlipayRequest, payment: SimulatedPayment | undefined, now: number): AlipayBody {
    // Before the query: a buyer who pays right after it must not show in its answer.
    const entry = payment?.entry(now);
    if (!payment || !entry || payment.query(now) === 'NOT_FOUND') return this.notFound(request);
    return { ...SUCCESS, ...tradeNumbers(entry), trade_status: tradeStatus(entry), ...money(entry) };
  }

  close(request: AlipayRequest, payment: SimulatedPayment | undefined, now: number): AlipayBody {
    const result = payment?.close(now) ?? 'NOT_FOUND';
    if (!payment || result === 'NOT_FOUND') return this.notFound(request);
    if (result === 'CLOSED') return { ...SUCCESS, ...tradeNumbers(payment.entry(now)) };
    return alipayError('40004', result === 'PAID' ? 'ACQ.TRADE_STATUS_ERROR' : 'ACQ.REASON_TRADE_STATUS_INVALID');
  }

  refund(request: AlipayRequest, payment: SimulatedPayment | undefined, now: number): AlipayBody {
    const { out_request_no: given, out_trade_no: reference = '', refund_amount: yuanText = '' } = request.content;
    const number = given ?? reference;
    const amount = readYuan(yuanText);
    if (!payment || payment.entry(now).scannedAt === null) return this.notFound(request);
    if (!amount) return alipayError('40004', 'ACQ.INVALID_PARAMETER');
    const known = refundOf(payment, number, now);
    if (known && known.status !== 'REJECTED' && known.amount !== String(amount)) {
      return alipayError('40004', 'ACQ.DISCORDANT_REPEAT_REQUEST');
    }
    const result = payment.refund(now, { number, amount });
    const entry = payment.entry(now);
    if (result === 'rejected') return refused(entry, number);
    const isNew = known?.status !== 'REFUNDED' && result === 'accepted';
    return {
      ...SUCCESS,
      ...tradeNumbers(entry),
      fund_change: isNew ? 'Y' : 'N',
      refund_fee: yuan(entry.refundedAmount),
    };
  }

  refundQuery(request: AlipayRequest, payment: SimulatedPayment | undefined, now: number): AlipayBody {
    const number = request.content['out_request_no'] ?? '';
    if (!payment || payment.entry(now).scannedAt === null) return this.notFound(request);
    const entry = payment.entry(now);
    const refund = refundOf(payment, number, now);
    // Found nothing, or nothing that is done: the call succeeded, and says no more.
    if (refund?.status !== 'REFUNDED') return SUCCESS;
    const amounts = { total_amount: yuan(entry.amount), refund_amount: yuan(refund.amount) };
    return { ...SUCCESS, ...tradeNumbers(entry), out_request_no: number, ...amounts, refund_status: 'REFUND_SUCCESS' };
  }

  /** A QR code to be scanned, or with `existsFrom` "creation" a trade. The same terms again answer the same. */
  create({ account, content, params }: AlipayRequest, existsFrom: 'scan' | 'creation', now: number): AlipayBody {
    const { out_trade_no: outTradeNo, total_amount: total = '', time_expire: timeExpire } = content;
    const terms = paymentInput.safeParse({
      ...{ provider: this.provider, reference: outTradeNo, merchantAccount: account },
      ...{ amount: String(readYuan(total)), currency: 'CNY', existsFrom },
      ...(timeExpire !== undefined && { timeExpire: readAlipayTime(timeExpire) }),
      ...(params['notify_url'] !== undefined && { notify: { url: params['notify_url'] } }),
    });
    if (!terms.success) return alipayError('40004', 'ACQ.INVALID_PARAMETER');
    const { reference, amount } = terms.data;
    const isOwn = ({ terms: other }: SimulatedPayment): boolean => (other.merchantAccount ?? account) === account;
    const payment = this.ledger.create(terms.data) ?? this.ledger.find(this.provider, reference, isOwn)?.payment;
    if (payment?.terms.amount !== amount) return alipayError('40004', 'ACQ.CONTEXT_INCONSISTENT');
    const entry = payment.entry(now);
    if (existsFrom === 'creation') return { ...SUCCESS, ...tradeNumbers(entry) };
    return { ...SUCCESS, out_trade_no: reference, qr_code: `https://qr.alipay.com/${encodeURIComponent(reference)}` };
  }

  /** The dangerous one: what is unpaid is closed, what is paid is refunded. */
  cancel(request: AlipayRequest, found: LedgerPayment | undefined, now: number): AlipayBody {
    const payment = found?.payment;
    if (!payment || payment.entry(now).scannedAt === null) return { ...SUCCESS, retry_flag: 'N' };
    const action = payment.refundDirectly(now) ? 'refund' : payment.close(now) === 'CLOSED' ? 'close' : '';
    return { ...SUCCESS, ...tradeNumbers(payment.entry(now)), retry_flag: 'N', action };
  }
}

/** Alipay's word for the state. It has none for a payment on its way. */
export function tradeStatus({ status }: LedgerEntry): string {
  if (status === 'PAID') return 'TRADE_SUCCESS';
  return status === 'CLOSED' || status === 'REFUNDED' ? 'TRADE_CLOSED' : 'WAIT_BUYER_PAY';
}

function tradeNumbers({ reference, transactionId }: LedgerEntry): AlipayBody {
  return { out_trade_no: reference, trade_no: transactionId ?? `sim-${reference}` };
}

/** Amounts are `0.00` and the date is missing until the buyer has paid. */
function money({ amount, paidAmount, paidAt, paidCurrency }: LedgerEntry): AlipayBody {
  if (paidAmount === null || paidAt === null) {
    return { total_amount: yuan(amount), receipt_amount: '0.00', buyer_pay_amount: '0.00' };
  }
  const paid = yuan(paidAmount);
  return {
    ...{ total_amount: paid, receipt_amount: paid, buyer_pay_amount: paid, send_pay_date: alipayTime(paidAt) },
    ...(paidCurrency === null || paidCurrency === 'CNY' ? {} : { trans_currency: paidCurrency }),
  };
}

function refundOf(payment: SimulatedPayment, number: string, now: number): LedgerEntry['refunds'][number] | undefined {
  return payment.entry(now).refunds.find((one) => one.number === number);
}

function refused(entry: LedgerEntry, number: string): AlipayBody {
  const reason = entry.refunds.find((one) => one.number === number)?.reason ?? 'scripted';
  return alipayError('40004', REFUND_REFUSALS[reason], { out_trade_no: entry.reference });
}
