import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { CodedError, MissingPackageError } from '../errors';
import { type Clock, CLOCK, SystemClock } from '../clock';
import { type PaymentProvider } from './payment-provider';

/** All providers of this process, by name. Fixed at startup. */
export class PaymentProviders {
  private readonly byName: ReadonlyMap<string, PaymentProvider>;

  /** @throws DuplicatePaymentProviderError with the first name that is used twice. */
  constructor(providers: Iterable<PaymentProvider>) {
    const byName = new Map<string, PaymentProvider>();
    for (const provider of providers) {
      if (byName.has(provider.name)) throw new DuplicatePaymentProviderError(provider.name);
      byName.set(provider.name, provider);
    }
    this.byName = byName;
  }

  /** The provider of that name, or undefined: an attempt at an unconfigured provider is UNKNOWN and is never closed. */
  get(name: string): PaymentProvider | undefined {
    return this.byName.get(name);
  }

  /** Names in the order of configuration. */
  names(): string[] {
    return [...this.byName.keys()];
  }
}

/** Two payment providers have the same name, so an attempt would be looked up at the wrong one. */
export class DuplicatePaymentProviderError extends CodedError {
  constructor(readonly providerName: string) {
    super(
      'DUPLICATE_PAYMENT_PROVIDER',
      `two payment providers are named "${providerName}"; give each its own name, or serve several merchants ` +
        'of one provider through merchantAccount',
    );
  }
}

/** Where an untrusted message came from. */
export type UntrustedSource = 'answer' | 'notification';

/** Is told about untrusted provider messages, for metrics. Must not throw. */
export interface PaymentObserver {
  /** A forged, unsigned, or misdirected answer or notification. It changed nothing. */
  untrusted(provider: string, source: UntrustedSource, reason: string): void;
}

/** Anyone can post notifications, so forged ones must not fill the disk with log lines. */
const LINES_PER_SECOND = 20;

/** Passes untrusted messages on to all observers, and logs them. */
@Injectable()
export class PaymentObservers implements PaymentObserver {
  private readonly logger = new Logger('Payments');
  private readonly observers = new Set<PaymentObserver>();
  private second = { endsAt: 0, lines: 0 };

  /** @internal Nest creates it. */
  constructor(@Optional() @Inject(CLOCK) private readonly clock: Clock = new SystemClock()) {}

  add(observer: PaymentObserver): void {
    this.observers.add(observer);
  }

  untrusted(provider: string, source: UntrustedSource, reason: string): void {
    if (this.mayLog()) this.logger.warn(`${provider}: untrusted ${source}: ${reason}`);
    for (const observer of this.observers) observer.untrusted(provider, source, reason);
  }

  private mayLog(): boolean {
    const now = this.clock.monotonic();
    if (now >= this.second.endsAt) {
      const dropped = this.second.lines - LINES_PER_SECOND;
      if (dropped > 0) this.logger.warn(`${dropped} more untrusted answers or notifications were not logged`);
      this.second = { endsAt: now + 1_000, lines: 0 };
    }
    this.second.lines += 1;
    return this.second.lines <= LINES_PER_SECOND;
  }
}

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

/** @throws MissingPackageError instead of Node's "Cannot find module". */
export function assertInstalled(packageName: string, entryPoint: string): void {
  try {
    require.resolve(packageName);
  } catch {
    throw new MissingPackageError(entryPoint, packageName);
  }
}
