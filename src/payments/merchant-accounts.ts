/** The account of attempts that name none. */
const DEFAULT_ACCOUNT = 'default';

/** One provider's merchants by account: the name that attempts call them by. */
export class MerchantAccounts<T> {
  private readonly byAccount: ReadonlyMap<string, T>;

  constructor(merchants: Readonly<Record<string, T>>) {
    this.byAccount = new Map(Object.entries(merchants));
  }

  /** The account that attempts without one belong to; null: there is none, and they must name theirs. */
  get defaultAccount(): string | null {
    const [first, second] = this.byAccount.keys();
    if (first !== undefined && second === undefined) return first;
    return this.byAccount.has(DEFAULT_ACCOUNT) ? DEFAULT_ACCOUNT : null;
  }

  /**
   * The merchant of an attempt. One without an account belongs to the only merchant there is, or to the one called
   * "default". Undefined: nobody, and nothing may be asked with another merchant's keys.
   */
  of(account: string | undefined): T | undefined {
    const name = account ?? this.defaultAccount;
    return name === null ? undefined : this.byAccount.get(name);
  }

  has(account: string): boolean {
    return this.byAccount.has(account);
  }

  /** Account and merchant, in the order of configuration. */
  entries(): [string, T][] {
    return [...this.byAccount];
  }
}
