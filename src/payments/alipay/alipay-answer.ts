import { type PaymentEvidence, type UnknownOutcome } from '../payment-outcome';

/** What Alipay signed as its answer to one call. What it means is still open. */
export interface AlipayAnswer {
  readonly type: 'VERIFIED';
  readonly method: string;
  /** `10000` done, `20000` unavailable, `40004` refused for a business reason, others: the request was wrong. */
  readonly code: string;
  /** For example `ACQ.TRADE_NOT_EXIST`; empty if there is none. */
  readonly subCode: string;
  /** Every field that is a string, by its name in the protocol. */
  readonly fields: Readonly<Record<string, string | undefined>>;
}

/** Kept as evidence. The others describe the buyer. */
const EVIDENCE_FIELDS = [
  ...['code', 'sub_code', 'sub_msg', 'out_trade_no', 'trade_no', 'trade_status', 'total_amount', 'trans_currency'],
  ...['receipt_amount', 'buyer_pay_amount', 'send_pay_date', 'out_request_no', 'refund_amount', 'refund_fee'],
  ...['refund_status', 'fund_change', 'gmt_refund_pay'],
];

/** Alipay has no such trade. It makes one only when the buyer scans or pays, so before that this is no proof. */
export function isNoTrade({ code, subCode }: AlipayAnswer): boolean {
  return code === '40004' && subCode === 'ACQ.TRADE_NOT_EXIST';
}

/** What of the answer is kept with the order's history. */
export function evidenceOf({ method, fields }: AlipayAnswer): PaymentEvidence {
  return { method, ...pick(fields, EVIDENCE_FIELDS) };
}

/** Those of `names` that are there. */
export function pick(
  fields: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const kept = names.map((name) => [name, fields[name]] as const);
  return Object.fromEntries(kept.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

/** The answer is Alipay's but of no use, or not one that is known. */
export function unrecognised(answer: AlipayAnswer): UnknownOutcome {
  const { method, code, subCode, fields } = answer;
  const said = [code, subCode, fields['sub_msg'] ?? fields['msg'], fields['trade_status']].filter(Boolean).join(' ');
  return {
    type: 'UNKNOWN',
    reason: `${method} answered ${said}`,
    // The service as a whole is unavailable; ACQ.SYSTEM_ERROR, in contrast, may be about this trade only.
    ...(code === '20000' ? { outage: true } : {}),
    evidence: evidenceOf(answer),
  };
}

/** The answer is signed by Alipay, but is not one to our question. */
export function mismatched(answer: AlipayAnswer, what: string): UnknownOutcome {
  const reason = `${answer.method} answered about another ${what} than was asked`;
  return { type: 'UNKNOWN', reason, untrusted: true, evidence: evidenceOf(answer) };
}
