import { type CloseOutcome, type QueryOutcome } from '../payment-outcome';
import { type AlipayAnswer, evidenceOf, isNoTrade, unrecognised } from './alipay-answer';

/** The trade cannot be closed, because it is paid or already closed. Only a query tells which. */
const STATUS_ERRORS: ReadonlySet<string> = new Set([
  'ACQ.TRADE_STATUS_ERROR',
  'ACQ.REASON_TRADE_STATUS_INVALID',
  'ACQ.REASON_ILLEGAL_STATUS',
  'ACQ.TRADE_HAS_SUCCESS',
  'ACQ.TRADE_HAS_FINISHED',
  'ACQ.TRADE_HAS_CLOSE',
]);

/** Maps a verified answer to alipay.trade.close. `ASK`: only a query can tell. */
export function toCloseOutcome(answer: AlipayAnswer): CloseOutcome | { readonly type: 'ASK' } {
  const { code, subCode } = answer;
  if (isNoTrade(answer)) return { type: 'NOT_FOUND', evidence: evidenceOf(answer) };
  if (code === '40004' && STATUS_ERRORS.has(subCode)) return { type: 'ASK' };
  return code === '10000' ? { type: 'CLOSED', evidence: evidenceOf(answer) } : unrecognised(answer);
}

/** Maps the query that follows a close that was refused because of the trade's state. */
export function toRefusedClose(query: QueryOutcome): CloseOutcome {
  switch (query.type) {
    case 'PAID':
      return { type: 'PAID', evidence: query.evidence };
    case 'CLOSED':
    case 'REFUNDED':
      return { type: 'ALREADY_CLOSED', ...(query.evidence && { evidence: query.evidence }) };
    case 'UNKNOWN':
      return query;
    default:
      return {
        type: 'UNKNOWN',
        reason: `the close was refused because of the trade's state, but a query then said ${query.type}`,
        ...(query.evidence && { evidence: query.evidence }),
      };
  }
}
