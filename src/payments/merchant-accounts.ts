/** The account of attempts that name no account. */
const DEFAULT_ACCOUNT = 'default';

/** The merchants of one provider, by the account name that payment attempts use. */
export class MerchantAccounts<T> {
  private readonly byAccount: ReadonlyMap<string, T>;

  constructor(merchants: Readonly<Record<string, T>>) {
    this.byAccount = new Map(Object.entries(merchants));
  }

  /** The account of attempts that name none. Null if there is no default: such attempts are rejected. */
  get defaultAccount(): string | null {
    const [first, second] = this.byAccount.keys();
    if (first !== undefined && second === undefined) return first;
    return this.byAccount.has(DEFAULT_ACCOUNT) ? DEFAULT_ACCOUNT : null;
  }

  /**
   * The merchant of an attempt. An attempt without an account belongs to the only merchant, or to the one called
   * "default". Undefined if there is neither: another merchant's keys must not be used.
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
