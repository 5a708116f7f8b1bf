import { patch, type Weakness } from './weakness';

const FOUND = 'orders/unmatched/note-unmatched-money.ts';
const SETTLE = 'orders/operator/settle-unmatched.ts';

/** Of what operators decide, and of what hosts do. */
export const PEOPLE_WEAKNESSES: readonly Weakness[] = [
  {
    name: 'forgets-settlements',
    says: 'A settled payment still counts for its order',
    patches: [
      patch(
        SETTLE,
        "if (!(await this.move(found, 'PAID', 'SETTLED'))) await this.decideAnew(found);",
        'await this.decideAnew(found);',
      ),
    ],
  },
  {
    name: 'keeps-settled-parts',
    says: 'A settled part of a PAID order that has too little still counts for it',
    patches: [patch(SETTLE, 'isPaidBy(order, attempt) ||', 'neededPayments(order).includes(attempt) ||')],
  },
  {
    name: 'hands-over-late',
    says: 'An attempt that is handed over after the deadline is answered as if it had been before',
    patches: [
      patch(
        'orders/pay/register-attempt.ts',
        "if (known.status === 'CREATED' && attempt.status !== 'CREATED') return false;",
        '',
      ),
    ],
  },
  {
    name: 'calls-refunded-paid',
    says: 'A shop is told that an open order is paid whose money goes back or is settled',
    patches: [
      patch(
        'orders/pay/mark-paid.ts',
        "return { type: 'insufficient', reason: 'amount-mismatch' };",
        "return { type: 'already-paid' };",
      ),
    ],
  },
  {
    name: 'purges-settlements',
    says: 'A settlement without an order is recorded only in its row of the list',
    patches: [
      patch(
        SETTLE,
        'if (outlivesRow(row, found.order)) await this.settled.remember(found.tx, row.id);',
        'await Promise.resolve(outlivesRow(row, found.order));',
      ),
    ],
  },
  {
    name: 'refuses-settled',
    says: 'Money settled before its attempt was registered is refused; the attempt stays undecided',
    patches: [patch(FOUND, "if (isSettled) return 'settled';", "if (isSettled) return 'taken';")],
  },
  {
    name: 'swallows-settled',
    says: 'A settled report stays settled, even if confirmed later',
    patches: [patch(FOUND, 'of settledReports(before, after)) {', 'of settledReports(before, after).slice(0, 0)) {')],
  },
  {
    name: 'books-handled-money',
    says: 'Repeated payments that a person or an erased order had are booked as new',
    patches: [
      patch(
        'orders/pay/mark-paid.ts',
        'const isKnown = !booking.wasBooked && isHandled(same.handled, money);',
        'const isKnown = false;',
      ),
    ],
  },
  {
    name: 'forgets-payments',
    says: 'Repeated payments of an erased or purged order count as new',
    patches: [patch('orders/retention/purge-orders.ts', 'await tx.query(sql.remember, [[id]]);', '')],
  },
  {
    name: 'erases-open-orders',
    says: 'An order is erased although its money, events, or timeouts are not done',
    patches: [
      patch(
        'orders/retention/purge-orders.ts',
        "if (open.length > 0) return { outcome: 'rejected', code: 'ORDER_HAS_OPEN_ITEMS', open };",
        '',
      ),
    ],
  },
  {
    name: 'believes-operators',
    says: 'Operators declare attempts closed without a look-up, and no payment watch follows',
    patches: [
      patch('orders/close/end-order.ts', "if (open.length > 0 && !attemptsAreClosed) return { type: 'look-up' };", ''),
      patch('orders/close/end-order.ts', '[{ ...after, status: to }]', '[]'),
    ],
  },
  {
    name: 'closes-despite-money',
    says: 'An operator closes an order although confirmed money for it waits',
    patches: [
      patch(
        'orders/close/end-order.ts',
        'decideManualClose(await this.withWaiting(locked), attemptsAreClosed)',
        'decideManualClose(order, attemptsAreClosed)',
      ),
    ],
  },
  {
    name: 'refunds-needed-money',
    says: 'An operator can refund the payment that a paid order needs',
    patches: [
      patch(
        'orders/operator/refund-and-revive.ts',
        'if (isNeeded(order, attempt)) return refuse',
        "if (isNeeded(order, attempt) && order.status !== 'PAID') return refuse",
      ),
    ],
  },
  {
    name: 'assigns-taken-money',
    says: 'An operator assigns a payment that another order has',
    patches: [
      patch(
        'orders/operator/assign-unmatched.ts',
        'others.some((other) => !mayLose.some((loses) => loses(other, money)))',
        'others.some((other) => !mayReassign(other, money) && isGivenUp(other, money))',
      ),
      patch(
        'orders/model/decide-claim.ts',
        '? holders.every((holder) => mayReassign(holder, money))',
        '? holders.every((holder) => holder.orderId !== order.id)',
      ),
    ],
  },
  {
    name: 'goes-on-after-rollback',
    says: "A call goes on after the end of the host's transaction, and each statement commits by itself",
    patches: [
      patch(
        'database/host-transactions/host-call.ts',
        'const [text, values] = guarded(this.schema, this.name, sql, parameters);',
        'const [text, values] = [sql, parameters];',
      ),
      patch(
        'database/host-transactions/host-call.ts',
        'if (ENDING.test(sql)) this.lose(hasEnded());',
        'if (ENDING.test(sql)) return send(...given);',
      ),
      patch(
        'database/host-transactions/host-call.ts',
        'if (!client.isTransactionActive || client.isReleased) throw hasEnded();',
        '',
      ),
    ],
  },
  {
    name: 'keeps-failed-calls',
    says: "What a failed call has written stays in the host's transaction",
    patches: [
      patch(
        'database/host-transactions/host-call.ts',
        'await this.host.send(`ROLLBACK TO SAVEPOINT ${this.name}`).catch(() => undefined);',
        'await Promise.resolve(this.name);',
      ),
    ],
  },
  {
    name: 'mixes-calls',
    says: 'Calls that a host awaits together run at the same time in its transaction',
    patches: [
      patch(
        'database/host-transactions/host-call.ts',
        'const call = last\n    ? last.then',
        'const call = last === lastCalls\n    ? last.then',
      ),
    ],
  },
  {
    name: 'hides-denials',
    says: 'Nobody is told that the provider denies what a shop has reported as paid',
    patches: [
      patch(
        'orders/pay/reconcile-payments.ts',
        'deniedReports(current, due.answer, { now, traceparent: by.traceparent })',
        'deniedReports(current, due.answer, { now, traceparent: by.traceparent }).slice(0, 0)',
      ),
    ],
  },
  {
    name: 'takes-transfers',
    says: 'Of two transfers under one reference, assigning the second takes the first from its order',
    patches: [
      patch(
        'orders/model/decide-claim.ts',
        'const isOther = areTwoPayments(holder, money) || differs(holder, money);',
        'const isOther = areTwoPayments(holder, money) && holder.reference.length < 0;',
      ),
    ],
  },
  {
    name: 'forgets-transfers',
    says: 'A second transfer under one reference counts as the first, which was settled, purged, or erased',
    patches: [
      patch(
        'orders/sql/handled-payments.ts',
        'const isToldTwice = one.source !== money.source &&',
        "const isToldTwice = one.source !== 'nobody' &&",
      ),
      patch(
        'orders/sql/keep-unmatched-money.ts',
        'COALESCE(${row}.source = ${other}.source AND',
        "COALESCE(${row}.source = 'provider' AND ${other}.source = 'provider' AND",
      ),
    ],
  },
  {
    name: 'waits-for-nobody',
    says: 'The look-up of an assigned transfer waits for a provider that nobody has',
    patches: [
      patch(
        'orders/model/findings.ts',
        "const isUnasked = finding.type === 'NO_PROVIDER' && attempt !== undefined && hasRegistered(attempt);",
        "const isUnasked = finding.type === 'NO_PROVIDER' && attempt?.registered === true;",
      ),
    ],
  },
];
