import { type MigrationInterface } from 'typeorm';
import { createOrders } from './create-orders';
import { createRefunds } from './create-refunds';
import { identifyPayments } from './identify-payments';
import { indexEarlyMoney } from './index-early-money';
import { indexOrders } from './index-orders';
import { letHistoryGo } from './let-history-go';
import { refundExcess } from './refund-excess';
import { rememberPayments } from './remember-payments';
import { rememberRefunds } from './remember-refunds';
import { resolveAccounts } from './resolve-accounts';
import { renameUnmatchedPayment } from './rename-unmatched-payment';
import { settleAttempts } from './settle-attempts';

/** The order migrations, in order. */
export function orderMigrations(schema: string): (new () => MigrationInterface)[] {
  return [
    createOrders(schema),
    createRefunds(schema),
    identifyPayments(schema),
    letHistoryGo(schema),
    renameUnmatchedPayment(schema),
    indexOrders(schema),
    settleAttempts(schema),
    rememberPayments(schema),
    indexEarlyMoney(schema),
    resolveAccounts(schema),
    refundExcess(schema),
    rememberRefunds(schema),
  ];
}
