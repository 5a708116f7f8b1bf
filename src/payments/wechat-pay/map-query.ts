import { type PaymentAttemptRef } from '../payment-attempt-ref';
import { type QueryOutcome, type UnknownOutcome } from '../payment-outcome';
import { errorEvidence, inconclusive } from './inconclusive';
import { toPaid, type Transaction, transactionSchema } from './transaction';
import { type WechatPayAnswer } from './wechat-pay-answer';

/** The merchant that the answer must name. */
export interface WechatPayIdentity {
  readonly mchid: string;
  readonly appid?: string | undefined;
}

/**
 * REVOKED and PAYERROR exist only for payment codes, which the shop scans. The buyer holds nothing that could be paid
 * again.
 */
const WITHOUT_MONEY = new Map<string, 'OPEN' | 'PROCESSING' | 'CLOSED'>([
  ['NOTPAY', 'OPEN'],
  ['USERPAYING', 'PROCESSING'],
  ['ACCEPT', 'PROCESSING'],
  ['CLOSED', 'CLOSED'],
  ['REVOKED', 'CLOSED'],
  ['PAYERROR', 'CLOSED'],
]);

/** Maps the answer to a query. It must be verified, and about this payment of this merchant. */
export function toQueryOutcome(
  answer: WechatPayAnswer,
  merchant: WechatPayIdentity,
  attempt: PaymentAttemptRef,
): QueryOutcome {
  if (answer.verification.type === 'UNVERIFIED') return inconclusive(answer);
  if (answer.status === 404 && answer.code === 'ORDERNOTEXIST') {
    return { type: 'NOT_FOUND', providerNow: answer.verification.at, evidence: errorEvidence(answer) };
  }
  const transaction = answer.status === 200 ? transactionSchema.safeParse(answer.body).data : undefined;
  if (!transaction) return inconclusive(answer);
  const mismatch = findMismatch(transaction, merchant, attempt.reference);
  if (mismatch) return aboutAnother(mismatch, transaction);
  return toState(transaction, attempt);
}

/** The field that does not match. Undefined if the transaction is the requested one. */
export function findMismatch(
  transaction: Transaction,
  { mchid, appid }: WechatPayIdentity,
  reference: string,
): string | undefined {
  if (transaction.mchid !== mchid) return 'mchid';
  if (appid !== undefined && transaction.appid !== appid) return 'appid';
  return transaction.out_trade_no === reference ? undefined : 'out_trade_no';
}

function toState(transaction: Transaction, attempt: PaymentAttemptRef): QueryOutcome {
  const state = transaction.trade_state;
  const withoutMoney = WITHOUT_MONEY.get(state);
  if (withoutMoney) return { type: withoutMoney, evidence: { ...transaction } };
  if (state === 'REFUND') return refundedInPart(transaction);
  const paid = state === 'SUCCESS' ? toPaid(transaction) : undefined;
  if (!paid) {
    const reason = `WeChat Pay's answer is not recognized: trade_state ${JSON.stringify(state.slice(0, 32))}`;
    return { type: 'UNKNOWN', reason, evidence: { ...transaction } };
  }
  return paid.currency === attempt.currency ? paid : aboutAnother(`currency ${paid.currency}`, transaction);
}

/** REFUND also means a partial refund, and the answer has no refunded amount. The rest may still pay the order. */
function refundedInPart(transaction: Transaction): UnknownOutcome {
  const reason =
    'WeChat Pay says REFUND: the payment was made, and some or all of it was refunded. Check in the merchant platform ' +
    'how much is left. Then report the order as paid, or refund the rest there and close the order manually';
  return { type: 'UNKNOWN', reason, needsPerson: true, evidence: { ...transaction } };
}

function aboutAnother(what: string, transaction: Transaction): UnknownOutcome {
  const reason = `answer is not trusted: it is about another payment (${what})`;
  return { type: 'UNKNOWN', reason, untrusted: true, evidence: { ...transaction } };
}
