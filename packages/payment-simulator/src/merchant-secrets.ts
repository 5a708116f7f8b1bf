/** Used when no secret is given: the simulator moves no real money. */
export const SIMULATOR_SECRET = 'payment-simulator-secret';

/** The shared secrets of the simulator's merchants. */
export class MerchantSecrets {
  constructor(
    private readonly fallback: string = SIMULATOR_SECRET,
    private readonly byAccount: Readonly<Record<string, string>> = {},
  ) {}

  /** Secret of the account (null: the default one); undefined if there is no such merchant. */
  of(merchantAccount: string | null): string | undefined {
    if (merchantAccount === null) return this.fallback;
    return Object.hasOwn(this.byAccount, merchantAccount) ? this.byAccount[merchantAccount] : undefined;
  }
}
