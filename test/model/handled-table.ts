import { accountOfAttempt, isBooked, type PaymentAttempt, type PaymentNames } from '../../src/orders/model/order';
import { type HandledPayment } from '../../src/orders/model/decide-claim';
import { type UnmatchedRow } from './unmatched-table';

type Remembered = Omit<HandledPayment, 'reference' | 'payment' | 'isOther' | 'isUncertain' | 'refunded'> & PaymentNames;

/** The table of handled payments of one run, as src/orders/sql/handled-payments.ts fills and reads it. */
export class HandledTable {
  private rows: readonly Remembered[] = [];

  /** What an order had that is erased or purged. */
  rememberBooked(attempts: readonly PaymentAttempt[]): void {
    const named = attempts.filter(({ reference }) => !reference.startsWith('erased:'));
    const booked = named.filter(isBooked);
    const seconds = attempts.filter((one) => !one.registered && one.reference === one.transactionId);
    const firsts = named.filter(({ registered, paidSource }) => registered && paidSource === 'provider');
    const refunds = seconds
      .filter(({ status }) => status === 'REFUNDED')
      .flatMap((second) =>
        firsts
          .filter(({ provider }) => provider === second.provider)
          .map((first) => ({ ...fateOf(second), ...nameOf(first) })),
      );
    const certain = attempts.filter((one) => isBooked(one) && one.paidSource === 'provider');
    const others = named
      .filter(({ status }) => status === 'DUPLICATE')
      .flatMap((other) =>
        certain
          .filter(({ provider }) => provider === other.provider)
          .map((one) => ({ ...fateOf(one), ...nameOf(other), fate: 'booked' as const })),
      );
    this.rows = [...this.rows, ...booked.map(fateOf), ...others, ...refunds];
  }

  /** What a person has settled that belongs to no attempt. */
  rememberSettled({ amount, ...row }: UnmatchedRow): void {
    this.rows = [...this.rows, { ...row, amount: BigInt(amount), orderId: null, fate: 'settled' }];
  }

  /** The account of what a person has settled is known now. */
  resolveAccount({ provider, reference }: UnmatchedRow, merchantAccount: string): void {
    const isIts = (row: Remembered): boolean =>
      row.provider === provider && row.reference === reference && row.merchantAccount === null;
    const isSettled = ({ fate, orderId }: Remembered): boolean => fate === 'settled' && orderId === null;
    this.rows = this.rows.map((row) => (isIts(row) && isSettled(row) ? { ...row, merchantAccount } : row));
  }

  forgetSettled(names: PaymentNames): void {
    const isIts = (row: Remembered): boolean => row.fate === 'settled' && isAccount(row, names) && isNamed(row, names);
    this.rows = this.rows.filter((row) => !isIts(row));
  }

  find(names: PaymentNames, orderId: string | null = null): HandledPayment[] {
    if (this.rows.length === 0) return [];
    const { provider, reference, merchantAccount } = names;
    const isIts = (row: Remembered): boolean => isAccount(row, names) || isUnresolved(row, names);
    const isOwn = (row: Remembered): boolean => orderId !== null && row.orderId === orderId;
    const found = this.rows.filter((row) => row.provider === provider && isNamed(row, names) && isIts(row));
    return found.map((row) => ({
      ...{ ...row, reference, merchantAccount, isOther: isOther(row, names) },
      isUncertain: !isAccount(row, names) && !isOwn(row),
      payment: row.transactionId ?? row.reference,
      refunded: this.rows.find((one) => isRefundOf(row, one))?.amount ?? null,
    }));
  }
}

/** Under whichever name of the payment. */
function isRefundOf({ orderId, transactionId }: Remembered, one: Remembered): boolean {
  return one.fate === 'refunded' && one.orderId === orderId && one.transactionId === transactionId;
}

function isNamed(row: Remembered, names: PaymentNames): boolean {
  if (row.reference === names.reference) return true;
  if (row.reference === names.transactionId || row.transactionId === names.reference) return true;
  return row.transactionId !== null && row.transactionId === names.transactionId;
}

function isOther(row: Remembered, { reference, transactionId }: PaymentNames): boolean {
  const isTold = row.transactionId !== null && transactionId !== null;
  return isTold && row.reference === reference && row.transactionId !== transactionId;
}

/** Without an account, only the transaction id proves that both are one. */
function isAccount(row: Remembered, names: PaymentNames): boolean {
  if (row.merchantAccount === names.merchantAccount) return true;
  const { reference, transactionId } = names;
  const isProved = row.transactionId === reference || row.reference === transactionId;
  return isUnresolved(row, names) && (isProved || (transactionId !== null && row.transactionId === transactionId));
}

function isUnresolved(row: Remembered, { merchantAccount }: PaymentNames): boolean {
  return row.merchantAccount === null || merchantAccount === null;
}

function nameOf(attempt: PaymentAttempt): Pick<Remembered, 'reference' | 'merchantAccount'> {
  return { reference: attempt.reference, merchantAccount: accountOfAttempt(attempt) };
}

function fateOf(attempt: PaymentAttempt): Remembered {
  const { provider, reference, transactionId, status, orderId } = attempt;
  return {
    ...{ provider, reference, merchantAccount: accountOfAttempt(attempt), transactionId, orderId },
    amount: attempt.paidAmount,
    currency: attempt.paidCurrency,
    source: attempt.paidSource ?? 'report',
    fate: status === 'SETTLED' ? 'settled' : status === 'REFUNDED' ? 'refunded' : 'booked',
  };
}
