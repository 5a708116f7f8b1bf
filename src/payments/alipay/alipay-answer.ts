import { type Clock } from '../../clock';
import {
  type PaymentEvidence,
  type UnknownOutcome,
  type PaymentAttemptRef,
  type QueryOutcome,
  type CloseOutcome,
  type RefundOutcome,
  type RefundRequest,
  closeOutcomeOf,
  unknown,
  untrusted,
} from '../payment-provider';

/** An answer that Alipay signed. Its content is not interpreted yet. */
export interface AlipayAnswer {
  readonly type: 'VERIFIED';
  readonly method: string;
  /** `10000`: done. `20000`: unavailable. `40004`: refused for a business reason. Others: the request was wrong. */
  readonly code: string;
  /** For example `ACQ.TRADE_NOT_EXIST`, or empty. */
  readonly subCode: string;
  /** All string fields, by their names in the protocol. */
  readonly fields: Readonly<Record<string, string | undefined>>;
}

/** Fields that are kept as evidence. The others describe the buyer. */
const EVIDENCE_FIELDS = [
  ...['code', 'sub_code', 'sub_msg', 'out_trade_no', 'trade_no', 'trade_status', 'total_amount', 'trans_currency'],
  ...['receipt_amount', 'buyer_pay_amount', 'send_pay_date', 'out_request_no', 'refund_amount', 'refund_fee'],
  ...['refund_status', 'fund_change', 'gmt_refund_pay'],
];

/** Alipay has no such trade. It creates one only when the buyer scans or pays, so before that this proves nothing. */
function isNoTrade({ code, subCode }: AlipayAnswer): boolean {
  return code === '40004' && subCode === 'ACQ.TRADE_NOT_EXIST';
}

function evidenceOf({ method, fields }: AlipayAnswer): PaymentEvidence {
  return { method, ...pick(fields, EVIDENCE_FIELDS) };
}

export function pick(
  fields: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const kept = names.map((name) => [name, fields[name]] as const);
  return Object.fromEntries(kept.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

/** The answer is signed, but its code or status decides nothing or is unknown. */
function unrecognized(answer: AlipayAnswer): UnknownOutcome {
  const { method, code, subCode, fields } = answer;
  const said = [code, subCode, fields['sub_msg'] ?? fields['msg'], fields['trade_status']].filter(Boolean).join(' ');
  // 20000 means that the whole service is unavailable. ACQ.SYSTEM_ERROR may concern only this trade.
  return unknown(`${method} answered ${said}`, { outage: code === '20000' || undefined, evidence: evidenceOf(answer) });
}

/** The answer is signed by Alipay, but belongs to another request. */
export function mismatched(answer: AlipayAnswer, what: string): UnknownOutcome {
  return untrusted(`${answer.method} answered about a different ${what}`, evidenceOf(answer));
}

/** Currency of all amounts, unless the answer names another one. */
export const ALIPAY_CURRENCY = 'CNY';

/** These amounts are missing or `0.00` until the buyer pays. */
const PAID_AMOUNTS = ['receipt_amount', 'buyer_pay_amount', 'invoice_amount'];

export function toQueryOutcome(answer: AlipayAnswer, attempt: PaymentAttemptRef, clock: Clock): QueryOutcome {
  const evidence = evidenceOf(answer);
  if (isNoTrade(answer)) return { type: 'NOT_FOUND', evidence };
  if (answer.code !== '10000') return unrecognized(answer);
  switch (answer.fields['trade_status']) {
    case 'WAIT_BUYER_PAY':
      return { type: 'OPEN', evidence };
    case 'TRADE_SUCCESS':
    case 'TRADE_FINISHED':
      return toPaid(answer, attempt, clock);
    case 'TRADE_CLOSED':
      return { type: wasPaid(answer) ? 'REFUNDED' : 'CLOSED', evidence };
    default:
      return unrecognized(answer);
  }
}

/** TRADE_CLOSED means either never paid or fully refunded. A refunded trade still shows its payment. */
function wasPaid({ fields }: AlipayAnswer): boolean {
  return Boolean(fields['send_pay_date']) || PAID_AMOUNTS.some((name) => (fromYuan(fields[name]) ?? 0n) > 0n);
}

function toPaid(answer: AlipayAnswer, attempt: PaymentAttemptRef, clock: Clock): QueryOutcome {
  const { total_amount: total, trade_no: transactionId, send_pay_date: sentAt, trans_currency: other } = answer.fields;
  const currency = other ?? ALIPAY_CURRENCY;
  if (currency !== ALIPAY_CURRENCY || attempt.currency !== currency) return mismatched(answer, 'currency');
  const amount = fromYuan(total);
  // Alipay documents the date as optional. A payment counts even if its date is missing.
  const paidAt = sentAt ? fromBeijingTime(sentAt) : new Date(clock.now());
  if (!amount || !paidAt || !transactionId) return unrecognized(answer);
  return { type: 'PAID', amount, currency, paidAt, transactionId, evidence: evidenceOf(answer) };
}

/** The trade cannot be closed, because it is paid or already closed. Only a query tells which. */
const STATUS_ERRORS: ReadonlySet<string> = new Set([
  'ACQ.TRADE_STATUS_ERROR',
  'ACQ.REASON_TRADE_STATUS_INVALID',
  'ACQ.REASON_ILLEGAL_STATUS',
  'ACQ.TRADE_HAS_SUCCESS',
  'ACQ.TRADE_HAS_FINISHED',
  'ACQ.TRADE_HAS_CLOSE',
]);

export function toCloseOutcome(answer: AlipayAnswer): CloseOutcome | { readonly type: 'ASK' } {
  const { code, subCode } = answer;
  if (isNoTrade(answer)) return { type: 'NOT_FOUND', evidence: evidenceOf(answer) };
  if (code === '40004' && STATUS_ERRORS.has(subCode)) return { type: 'ASK' };
  return code === '10000' ? { type: 'CLOSED', evidence: evidenceOf(answer) } : unrecognized(answer);
}

/** Maps the query that follows a close that was refused because of the trade's state. */
export function toRefusedClose(query: QueryOutcome): CloseOutcome {
  const why = `the close was refused because of the trade's state, but a query then said ${query.type}`;
  if (query.type !== 'NOT_FOUND') return closeOutcomeOf(query, why);
  return unknown(why, { evidence: query.evidence });
}

/** Repeating the refund with the same number brings the same refusal, so a person must act. */
const FINAL_REFUSALS: ReadonlySet<string> = new Set([
  'ACQ.SELLER_BALANCE_NOT_ENOUGH',
  'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL',
  'ACQ.REASON_TRADE_REFUND_FEE_ERR',
  'ACQ.REFUND_FEE_ERROR',
  'ACQ.REASON_TRADE_BEEN_FREEZEN',
  'ACQ.TRADE_NOT_ALLOW_REFUND',
  'ACQ.TRADE_HAS_FINISHED',
  'ACQ.TRADE_STATUS_ERROR',
  'ACQ.DISCORDANT_REPEAT_REQUEST',
  'ACQ.TRADE_NOT_EXIST',
  'ACQ.BUYER_NOT_EXIST',
  'ACQ.BUYER_ENABLE_STATUS_FORBID',
]);

export function toRefundOutcome(answer: AlipayAnswer, refund: RefundRequest): RefundOutcome | { readonly type: 'ASK' } {
  const { code, fields } = answer;
  if (code === '10000') {
    // `N`: this call moved no money. Either an earlier call did, or the refund is still to come.
    return fields['fund_change'] === 'Y' ? refunded(answer, refund) : { type: 'ASK' };
  }
  // The refund may have succeeded before: after a full refund, Alipay refuses the repeated call for the trade's state.
  return code === '40004' && FINAL_REFUSALS.has(answer.subCode) ? { type: 'ASK' } : unrecognized(answer);
}

/** Maps a verified answer to alipay.trade.fastpay.refund.query, which follows `first`, the answer to the refund. */
export function toConfirmedRefund(answer: AlipayAnswer, first: AlipayAnswer, refund: RefundRequest): RefundOutcome {
  const status = answer.code === '10000' ? (answer.fields['refund_status'] ?? '') : undefined;
  if (status === 'REFUND_SUCCESS') return findMismatch(answer, refund) ?? refunded(answer, refund);
  // By Alipay's documentation, no status means no refund, and a failed refund may be repeated with the same number.
  const isNotDone = status === '' || status === 'REFUND_FAIL' || isNoTrade(answer);
  if (first.code === '10000') {
    return isNotDone || status === 'REFUND_PROCESSING'
      ? { type: 'PENDING', evidence: evidenceOf(answer) }
      : unrecognized(answer);
  }
  if (!isNotDone) return unrecognized(answer);
  const reason = `Alipay refused the refund: ${first.subCode} ${first.fields['sub_msg'] ?? ''}`.trimEnd();
  return { type: 'REJECTED', reason, evidence: evidenceOf(first) };
}

function refunded(answer: AlipayAnswer, { refundNumber }: RefundRequest): RefundOutcome {
  // Alipay assigns no refund number, so refunds are found by ours.
  return { type: 'REFUNDED', refundId: refundNumber, evidence: evidenceOf(answer) };
}

function findMismatch(answer: AlipayAnswer, { refundNumber, amount }: RefundRequest): UnknownOutcome | undefined {
  const { out_request_no: number, refund_amount: given } = answer.fields;
  if (number !== refundNumber) return mismatched(answer, 'refund');
  if (given !== undefined && fromYuan(given) !== amount) return mismatched(answer, 'amount');
  return undefined;
}

/** At most 15 digits before the decimal point. Alipay's amounts have at most 9. */
const SHAPE = /^(0|[1-9]\d{0,14})(?:\.(\d{1,2}))?$/;

/** Parses yuan such as `88.88` to fen. Undefined for anything but digits with 0 to 2 decimals. */
export function fromYuan(text: string | undefined): bigint | undefined {
  const [, whole, fraction = ''] = SHAPE.exec(text ?? '') ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(2, '0'));
}

export function toYuan(fen: bigint): string {
  const digits = fen.toString().padStart(3, '0');
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Alipay uses China's time zone for all times. China has had no daylight saving time since 1991. */
const OFFSET_MS = 8 * 3_600_000;
const TIME_SHAPE = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/;

/** Epoch milliseconds as `yyyy-MM-dd HH:mm:ss` in Beijing time. The time zone of the process does not matter. */
export function toBeijingTime(epochMs: number): string {
  return new Date(epochMs + OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}

/** Parses `yyyy-MM-dd HH:mm:ss` in Beijing time. Undefined for anything else, including February 30. */
export function fromBeijingTime(text: string | undefined): Date | undefined {
  const [, day, time] = TIME_SHAPE.exec(text ?? '') ?? [];
  if (day === undefined || time === undefined) return undefined;
  const instant = new Date(`${day}T${time}+08:00`);
  // Date reads February 30 as March 2, so the result must format back to the same text.
  return !Number.isNaN(instant.getTime()) && toBeijingTime(instant.getTime()) === text ? instant : undefined;
}
