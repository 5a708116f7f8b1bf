import { type PaymentEvidence, type UnknownOutcome } from '../payment-outcome';

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
export function isNoTrade({ code, subCode }: AlipayAnswer): boolean {
  return code === '40004' && subCode === 'ACQ.TRADE_NOT_EXIST';
}

/** The part of the answer that is kept with the order's history. */
export function evidenceOf({ method, fields }: AlipayAnswer): PaymentEvidence {
  return { method, ...pick(fields, EVIDENCE_FIELDS) };
}

/** The fields that are present, of those in `names`. */
export function pick(
  fields: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const kept = names.map((name) => [name, fields[name]] as const);
  return Object.fromEntries(kept.filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
}

/** The answer is signed, but its code or status decides nothing or is unknown. */
export function unrecognised(answer: AlipayAnswer): UnknownOutcome {
  const { method, code, subCode, fields } = answer;
  const said = [code, subCode, fields['sub_msg'] ?? fields['msg'], fields['trade_status']].filter(Boolean).join(' ');
  return {
    type: 'UNKNOWN',
    reason: `${method} answered ${said}`,
    // 20000 means that the whole service is unavailable. ACQ.SYSTEM_ERROR may concern only this trade.
    ...(code === '20000' ? { outage: true } : {}),
    evidence: evidenceOf(answer),
  };
}

/** The answer is signed by Alipay, but belongs to another request. */
export function mismatched(answer: AlipayAnswer, what: string): UnknownOutcome {
  const reason = `${answer.method} answered about a different ${what}`;
  return { type: 'UNKNOWN', reason, untrusted: true, evidence: evidenceOf(answer) };
}
