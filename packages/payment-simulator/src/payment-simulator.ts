import { type Clock } from './clock';
import { FaultPlan } from './fault-plan';
import { LazyProtocols } from './lazy-protocols';
import { type LedgerEntry } from './ledger-entry';
import { MerchantSecrets } from './merchant-secrets';
import { PaymentLedger } from './payment-ledger';
import { type ProtocolContext, type SimulatedProtocol } from './protocol';
import { ProviderEndpoint } from './provider-endpoint';
import { ReplyServer } from './reply-server';
import { ScriptEndpoint } from './script-endpoint';
import { ShopNotifier } from './shop-notifier';
import { LazyMerchants, type SimulatedMerchants } from './simulated-merchants';
import { SimulatorContext } from './simulator-context';
import { SimulatorRoutes } from './simulator-routes';
import { SystemClock } from './system-clock';

/** Settings of a PaymentSimulator; all have defaults. */
export interface PaymentSimulatorOptions {
  /** `provider` in notifications. @default "simulator" */
  readonly name?: string;
  /** Shared secret of the default merchant. @default SIMULATOR_SECRET */
  readonly secret?: string;
  /** Shared secrets of further merchants by account. */
  readonly merchantSecrets?: Readonly<Record<string, string>>;
  /** Merchants of the other protocols. @default one of each, called "shop", with new keys */
  readonly merchants?: Partial<SimulatedMerchants>;
  /** Further protocols; one of a built-in's name takes its place. */
  readonly protocols?: (context: ProtocolContext) => readonly SimulatedProtocol[];
  /** The delays between repeated notifications, up to hours, are divided by it. @default 1 */
  readonly retrySpeedUp?: number;
  /** @default the machine's clock */
  readonly clock?: Clock;
}

/**
 * Payment providers for tests and demos, over real HTTP: the protocol of HttpPaymentProvider at `/payments`, those of
 * Alipay, WeChat Pay and Stripe at `/alipay`, `/wechat-pay` and `/stripe`, all with scripted buyers and faults.
 * The truth of money is in its ledger: what was charged there was charged.
 */
export class PaymentSimulator {
  /** The merchants of the other protocols, with the keys of both sides, for the adapters' options. */
  readonly merchants: SimulatedMerchants;
  private readonly server: ReplyServer;
  private readonly stopping = new AbortController();
  private readonly payments: PaymentLedger;
  private readonly notifier: ShopNotifier;

  constructor(options: PaymentSimulatorOptions = {}) {
    const { clock = new SystemClock(), retrySpeedUp = 1 } = options;
    const faults = new FaultPlan(clock);
    const protocolOf = (provider: string): SimulatedProtocol | undefined => protocols(provider);
    this.merchants = new LazyMerchants(options.merchants);
    this.notifier = new ShopNotifier({ clock, protocolOf, retrySpeedUp, stopping: this.stopping.signal });
    this.payments = new PaymentLedger(clock, (payment, event) => this.notifier.announce(payment, event));
    const context = new SimulatorContext(clock, this.payments, faults, this.stopping.signal);
    const protocols = this.protocolsOf(options, context);
    const script = new ScriptEndpoint(clock, this.payments, faults, this.merchants);
    const routes = new SimulatorRoutes(protocolOf, script);
    this.server = new ReplyServer((request) => routes.reply(request));
  }

  /** @param port 0: any free one. @returns the base URL. @throws what node says, e.g. EADDRINUSE. */
  listen(port = 0, host = '127.0.0.1'): Promise<string> {
    return this.server.listen(port, host);
  }

  /** Every payment, as it stands now. */
  ledger(): LedgerEntry[] {
    return this.payments.entries();
  }

  /** Cuts every connection, hanging ones too, and stops the scripted buyers. A second call does nothing. */
  async close(): Promise<void> {
    this.stopping.abort();
    this.payments.stop();
    this.notifier.stop();
    await this.server.close();
  }

  private protocolsOf(
    options: PaymentSimulatorOptions,
    context: ProtocolContext,
  ): (provider: string) => SimulatedProtocol | undefined {
    const secrets = new MerchantSecrets(options.secret, options.merchantSecrets);
    const own = new ProviderEndpoint(context, secrets, options.name ?? 'simulator');
    const given = new Map([own, ...(options.protocols?.(context) ?? [])].map((one) => [one.provider, one]));
    const builtIn = new LazyProtocols(context, this.merchants);
    return (provider) => given.get(provider) ?? builtIn.of(provider);
  }
}
