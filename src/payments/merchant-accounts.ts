/** The account of attempts that name none. */
const DEFAULT_ACCOUNT = 'default';

/** One provider's merchants by account: the name that attempts call them by. */
export class MerchantAccounts<T> {
  private readonly byAccount: ReadonlyMap<string, T>;

  constructor(merchants: Readonly<Record<string, T>>) {
    this.byAccount = new Map(Object.entries(merchants));
  }

  /**
   * The merchant of an attempt. One without an account belongs to the only merchant there is, or to the one called
   * "default". Undefined: nobody, and nothing may be asked with another merchant's keys.
   */
  of(account: string | undefined): T | undefined {
    if (account !== undefined) return this.byAccount.get(account);
    if (this.byAccount.size === 1) return [...this.byAccount.values()][0];
    return this.byAccount.get(DEFAULT_ACCOUNT);
  }

  /** Account and merchant, in the order of configuration. */
  entries(): [string, T][] {
    return [...this.byAccount];
  }
}
