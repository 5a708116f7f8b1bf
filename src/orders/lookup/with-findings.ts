import { type AttemptFinding, applyFinding, type Finding } from './attempt-finding';
import { bookMoney, type Money } from '../pay/book-money';
import { type LockedOrder } from '../order';
import { type AttemptWrite } from '../sql/write-attempts';
import { isSameRow, type PaymentAttempt } from '../payment-attempt';

/** Pure: returns the order with its attempts after the findings. Unchanged attempts stay the same objects. */
export function withFindings(order: LockedOrder, findings: readonly AttemptFinding[]): LockedOrder {
  return findings.reduce(withFinding, order);
}

/** The attempts that the findings have changed, ready to be written. */
export function attemptWrites(
  before: LockedOrder,
  after: LockedOrder,
  findings: readonly AttemptFinding[],
): AttemptWrite[] {
  const changed = after.attempts.filter((attempt) => !before.attempts.includes(attempt));
  return changed.map((attempt) => {
    const isNew = !before.attempts.some((one) => isSameRow(one, attempt));
    return { attempt, isNew, evidence: evidenceOf(attempt, findings) };
  });
}

/** The payments among the findings. */
export function paymentsFound(findings: readonly AttemptFinding[]): Money[] {
  return findings.flatMap((found) => (found.finding.type === 'PAID' ? [moneyOf(found, found.finding)] : []));
}

function withFinding(order: LockedOrder, found: AttemptFinding): LockedOrder {
  const { finding } = found;
  const asked = order.attempts.find((attempt) => isSameRow(attempt, found));
  // It was registered for another order, or removed, after it was looked up.
  if (!asked) return order;
  if (finding.type === 'PAID') return bookMoney(order, moneyOf(found, finding)).after;
  const changed = applyFinding(asked, finding);
  if (changed === asked) return order;
  return { ...order, attempts: order.attempts.map((attempt) => (attempt === asked ? changed : attempt)) };
}

function moneyOf(
  { provider, reference, merchantAccount, resolvedAccount, isSettled = false }: Omit<AttemptFinding, 'finding'>,
  { amount, currency, paidAt, transactionId }: Extract<Finding, { type: 'PAID' }>,
): Money {
  const names = { provider, reference, merchantAccount, resolvedAccount: resolvedAccount ?? null, transactionId };
  return { ...names, amount, currency, paidAt, source: 'provider', isSettled };
}

/** A second payment under one reference is named by its transaction id. */
function hasId({ provider, finding }: AttemptFinding, { provider: of, reference }: PaymentAttempt): boolean {
  return finding.type === 'PAID' && provider === of && finding.transactionId === reference;
}

function evidenceOf(attempt: PaymentAttempt, findings: readonly AttemptFinding[]): AttemptWrite['evidence'] {
  const own = findings.find((found) => isSameRow(found, attempt)) ?? findings.find((found) => hasId(found, attempt));
  const finding = own?.finding;
  switch (finding?.type) {
    case 'PAID':
    case 'CLOSED':
      return { ...finding.evidence };
    case 'UNKNOWN':
    case 'IN_PROGRESS':
      return { reason: finding.reason };
    default:
      return null;
  }
}
