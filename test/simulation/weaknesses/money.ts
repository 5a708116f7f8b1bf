import { patch, type Weakness } from './weakness';

const CLAIM = 'orders/model/decide-claim.ts';
const LATE = 'orders/unmatched/handle-unmatched.ts';
const MARK_PAID = 'orders/pay/mark-paid.ts';
const MONEY = 'orders/model/money.ts';
const ORDER = 'orders/model/order.ts';
const REFUNDS = 'orders/unmatched/refunds.ts';
const NOTIFICATION = 'orders/pay/handle-notification.ts';

/** Of whose money it is, how much, and where it goes. */
export const MONEY_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'has-no-late-path',
    says: 'Late payments are booked and left alone',
    patches: [
      patch(LATE, 'return decideClosed(order, policy, verification);', 'return NOTHING;'),
      patch(LATE, 'return decideLate(order, policy, verification);\n    default:', 'return NOTHING;\n    default:'),
    ],
  },
  {
    name: 'never-watches',
    says: 'Closed attempts are never looked up again',
    patches: [
      patch(
        'orders/unmatched/payment-watch.ts',
        'if (isUndecided(order.status) || !order.attempts.some(isWatched)) return [];',
        'if (isUndecided(order.status) || order.attempts.some(isWatched)) return [];',
      ),
    ],
  },
  {
    name: 'offers-taken-money',
    says: 'A report for an unknown order offers the payment of another order',
    patches: [
      patch(
        MARK_PAID,
        "const reason = isTaken ? 'attempt-mismatch' : 'unknown-order';",
        "const reason = isTaken ? 'unknown-order' : 'unknown-order';",
      ),
    ],
  },
  {
    name: 'believes-reports',
    says: "A report counts as the provider's word, for refunds too",
    patches: [
      patch(
        MARK_PAID,
        "return this.book(payment, contextOf(by), { source: 'report', tx });",
        "return this.book(payment, contextOf(by), { source: 'provider', tx });",
      ),
    ],
  },
  {
    name: 'counts-names',
    says: 'A payment under two names counts as two',
    patches: [
      patch(
        ORDER,
        'return names.includes(b.reference) || (b.transactionId !== null && names.includes(b.transactionId));',
        'return names[0] === b.reference;',
      ),
    ],
  },
  {
    name: 'ignores-accounts',
    says: "The merchant account is not part of a payment's identity",
    patches: [patch(ORDER, 'return one === null || other === null || one === other;', 'return one !== undefined;')],
  },
  {
    name: 'splits-accounts',
    says: 'An unknown merchant account counts as its own account',
    patches: [patch(ORDER, 'return one === null || other === null || one === other;', 'return one === other;')],
  },
  {
    name: 'folds-payments',
    says: 'A second payment under one reference counts as a repetition',
    patches: [
      patch(
        ORDER,
        'return told.transactionId !== known.transactionId && told.transactionId !== known.reference;',
        'return false;',
      ),
    ],
  },
  {
    name: 'folds-unknown-payments',
    says: 'A second payment under a reference that no order has counts as a repetition',
    patches: [
      patch(
        'orders/sql/keep-unmatched-money.ts',
        'COALESCE(${row}.source = ${other}.source AND',
        "COALESCE(${row}.source = 'nobody' AND ${other}.source = 'nobody' AND",
      ),
    ],
  },
  {
    name: 'believes-ids',
    says: 'A transaction id only from a report counts as a second payment',
    patches: [
      patch(
        MONEY,
        "return money.source === 'provider' || attempts.some(isKnown) ? own : money;",
        'return attempts.some(isKnown) ? own : own;',
      ),
    ],
  },
  {
    name: 'ignores-other-orders',
    says: 'A payment counts for an order although another one has it',
    patches: [
      patch(CLAIM, 'if (holders.length === 0) return !wasBooked', 'if (holders.length >= 0) return !wasBooked'),
    ],
  },
  {
    name: 'believes-claims',
    says: "A report for another order counts as the provider's word on a registered attempt",
    patches: [
      patch(
        CLAIM,
        'return yieldsToProvider(holder) && !(money.secondOf',
        'return !isBooked(holder) && !(money.secondOf',
      ),
    ],
  },
  {
    name: 'keeps-lost-claims',
    says: 'An order keeps a payment that it only claimed, although its owner has it',
    patches: [
      patch(
        'orders/pay/reconcile-payments.ts',
        'if (lost.length === 0) return order;',
        'if (lost.length >= 0) return order;',
      ),
    ],
  },
  {
    name: 'books-without-lock',
    says: 'Two orders may book one payment at the same time',
    patches: [
      patch(
        'orders/sql/lock-orders.ts',
        'await tx.query(sameSql(database).lock, namesParameters(names));',
        'await Promise.resolve(namesParameters(names));',
      ),
    ],
  },
  {
    name: 'trusts-all-alike',
    says: 'Reported payments rank with confirmed ones, and others are refunded because of them',
    patches: [
      patch(
        MONEY,
        'const unconfirmed = Number(isUnconfirmed(a)) - Number(isUnconfirmed(b));',
        'const unconfirmed = Number(isUnconfirmed(b)) - Number(isUnconfirmed(a));',
      ),
      patch(LATE, 'if (!isPaidByReports(order, order.attempts)) return refundPayments', 'return refundPayments'),
    ],
  },
  {
    name: 'ignores-surplus',
    says: 'A second payment of a paid order is neither refunded nor shown',
    patches: [patch(LATE, 'if (money.surplus.length === 0) return NOTHING;', 'return NOTHING;')],
  },
  {
    name: 'hides-excess',
    says: 'Nobody is told of the excess of a payment',
    patches: [
      patch(
        LATE,
        "if (order.status !== 'PAID' || money.type !== 'sufficient' || !money.overpaid) return;",
        "if (order.status === 'PAID' || money.type !== 'sufficient' || !money.overpaid) return;",
      ),
    ],
  },
  {
    name: 'leaves-outdated-rows',
    says: 'What a person was told of a payment stays, although the order needs it now, or has no more excess',
    patches: [patch(LATE, 'const isTold = order.status ===', 'const isTold = order.status !==')],
  },
  {
    name: 'revives-in-silence',
    says: 'A late payment that revives its order without a person still waits for one',
    patches: [
      patch(LATE, 'await this.execute({ ...order, status:', 'if (person) await this.execute({ ...order, status:'),
    ],
  },
  {
    name: 'forgets-returned-excess',
    says: 'The excess that was refunded still counts as money of the order',
    patches: [
      patch(
        ORDER,
        'that was paid for ${reference} at ${provider}`) - refundedAmount;',
        'that was paid for ${reference} at ${provider}`) - 0n * refundedAmount;',
      ),
    ],
  },
  {
    name: 'drops-unknown-money',
    says: 'A notified payment that no order has registered is acknowledged and not stored',
    patches: [patch(NOTIFICATION, 'await this.keep(names, paid);', 'await Promise.resolve(this.logger);')],
  },
  {
    name: 'answers-before-commit',
    says: 'A notification is acknowledged before its payment is stored',
    patches: [
      patch(
        NOTIFICATION,
        'await this.process(provider, notification);',
        'void this.process(provider, notification).catch(() => undefined);',
      ),
    ],
  },
  {
    name: 'drops-news',
    says: 'A notified change triggers what is due, but no look-up',
    patches: [patch(NOTIFICATION, '[reconcileTimeout(orderId), ...checks].map(', '[...checks].map(')],
  },
  {
    name: 'ignores-chargebacks',
    says: "Nobody is told that the buyer's bank takes a payment back",
    patches: [patch(NOTIFICATION, 'return this.tell(this.namesOf(provider, notification), notification);', 'return;')],
  },
  {
    name: 'refunds-charged-back',
    says: "A payment that the buyer's bank takes back is refunded, too",
    patches: [
      patch(
        'orders/unmatched/note-unmatched-money.ts',
        'const returned = [...chargedBack,',
        'const returned = [...chargedBack.slice(0, 0),',
      ),
      patch(LATE, 'return takenBack.length > 0 ? wanted :', 'return takenBack.length < 0 ? wanted :'),
      patch(REFUNDS, 'if (asked.isTakenBack && !asked.isConfirmed) return TAKEN_BACK;', ''),
    ],
  },
  {
    name: 'forgets-refunds',
    says: 'A completed refund is never requested again, whatever is reported',
    patches: [
      patch(
        NOTIFICATION,
        '[reconcileTimeout(orderId), ...checks].map(',
        '[reconcileTimeout(orderId), ...checks.slice(0, 0)].map(',
      ),
    ],
  },
  {
    name: 'misses-early-failures',
    says: 'That a refund failed is forgotten if it is told before the confirmation is stored',
    patches: [patch(NOTIFICATION, 'isConfirmed || pending.some(', 'isConfirmed || [].some(')],
  },
  {
    name: 'believes-pending-refunds',
    says: 'A refund that the provider has accepted counts as done',
    patches: [
      patch(
        REFUNDS,
        "return retry('the provider is working on the refund', pendingMs(waitedMs));",
        "return { type: 'refunded', refundId: 'pending' };",
      ),
    ],
  },
  {
    name: 'believes-lost-refunds',
    says: 'A refund without a response counts as done',
    patches: [
      patch(
        REFUNDS,
        "return { type: 'retry', ...waitForUnknown(answer, waitedMs, LEAST_MS) };",
        "return { type: 'refunded', refundId: 'lost' };",
      ),
    ],
  },
  {
    name: 'numbers-refunds-anew',
    says: 'Each request of a refund has a number of its own',
    patches: [
      patch(
        'orders/lookup/payment-lookups.ts',
        'attempt: toRef(attempt),\n      refundNumber,',
        'attempt: toRef(attempt),\n      refundNumber: `${refundNumber.slice(8)}${String(now++).padStart(8, "0")}`,',
      ),
      patch('orders/lookup/payment-lookups.ts', 'const LANES = 4;', 'const LANES = 4;\nlet now = 0;'),
    ],
  },
];
