import { type EntityManager } from 'typeorm';
import { type UnmatchedMoney } from '../unmatched/unmatched-money';

interface Known {
  readonly id: string;
  readonly provider: string;
  readonly reference: string;
  readonly reason: string;
  readonly account: string;
}

/**
 * One payment has one row of unmatched money, although one of two sources did not know its merchant account. A row
 * without the account gets it, and money without an account goes to the row that has one.
 */
export class AccountKeptMoney {
  private readonly findSql: string;
  private readonly resolveSql: string;

  constructor(schema: string) {
    this.findSql = `
      SELECT p.id, p.provider, p.reference, p.reason, p.merchant_account AS account
        FROM unnest($1::text[], $2::text[], $3::text[]) AS m(provider, reference, reason), LATERAL (
          SELECT * FROM ${schema}.unmatched_payment o
           WHERE o.provider = m.provider AND o.reference = m.reference AND o.reason = m.reason OFFSET 0) p`;
    this.resolveSql = `UPDATE ${schema}.unmatched_payment SET merchant_account = $2 WHERE id = $1 AND merchant_account = ''`;
  }

  /** Returns the money with the account of its row. */
  async execute(tx: EntityManager, money: readonly UnmatchedMoney[]): Promise<UnmatchedMoney[]> {
    const known = await tx.query<Known[]>(this.findSql, [
      money.map(({ provider }) => provider),
      money.map(({ reference }) => reference),
      money.map(({ reason }) => reason),
    ]);
    const accounted: UnmatchedMoney[] = [];
    for (const one of money) accounted.push(await this.account(tx, one, known));
    return accounted;
  }

  private async account(tx: EntityManager, one: UnmatchedMoney, known: readonly Known[]): Promise<UnmatchedMoney> {
    const rows = known.filter(
      ({ provider, reference, reason }) =>
        provider === one.provider && reference === one.reference && reason === one.reason,
    );
    const account = one.merchantAccount ?? '';
    if (rows.some((row) => row.account === account)) return one;
    // Of several accounts, none is known to be the one.
    const [only, ...others] = rows;
    if (account === '') return only && others.length === 0 ? { ...one, merchantAccount: only.account } : one;
    const unresolved = rows.find((row) => row.account === '');
    if (!unresolved) return one;
    // The money of an attempt is stored under the key of that attempt, which never changes.
    if (one.reason !== 'unknown-order') return { ...one, merchantAccount: null };
    await tx.query(this.resolveSql, [unresolved.id, account]);
    return one;
  }
}
