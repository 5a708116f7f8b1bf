import { type PaymentProviders } from '../../src/payments';
import { type Agenda } from './agenda';
import { type Random } from './random';

/**
 * What the processes of the service know of merchant accounts.
 * - `all`: each the same.
 * - `lacking`: some do not know the provider, and so not its default account.
 * - `gaining`: from some moment on, the adapter has a default account.
 */
export type Knowledge = 'all' | 'lacking' | 'gaining';

/** The account that all payments are made to, where processes know different things. */
export const ACCOUNT = 'm1';

/** The account that a weaker variant takes for the one where none is known. */
export const UNKNOWN_ACCOUNT = 'unknown';

type Providers = Pick<PaymentProviders, 'get'>;

const knowing = (defaultAccount: string | undefined): Providers =>
  ({ get: () => (defaultAccount === undefined ? {} : { defaultAccount }) }) as unknown as Providers;
const KNOWING = knowing(ACCOUNT);

/** The processes of the service, by what they know of the providers. */
export class Processes {
  private readonly unaware: Providers;

  constructor(
    readonly knowledge: Knowledge,
    private readonly gainsAtMs: number,
    private readonly around: { readonly agenda: Agenda; readonly random: Random },
    resolvesAccounts: boolean,
  ) {
    this.unaware = knowing(resolvesAccounts ? undefined : UNKNOWN_ACCOUNT);
  }

  /** Of the process that gets a request. */
  some(): Providers {
    const { agenda, random } = this.around;
    if (this.knowledge === 'gaining') return agenda.nowMs < this.gainsAtMs ? this.unaware : KNOWING;
    return this.knowledge === 'lacking' && random.chance(0.5) ? KNOWING : this.unaware;
  }

  /** Of a process that reads notifications, so it knows the provider. */
  reading(): Providers {
    return this.knowledge === 'lacking' ? KNOWING : this.some();
  }
}
