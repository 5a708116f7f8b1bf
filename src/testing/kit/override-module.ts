import { type Clock, CLOCK } from '../../clock';
import { ORDER_TIMEOUT_OPTIONS, RAW_ORDER_TIMEOUT_OPTIONS, resolveOrderTimeoutOptions } from '../../module';
import { type OrderTimeoutOptions, type ResolvedOrderTimeoutOptions } from '../../module';
import { type PaymentProvider, PaymentProviders } from '../../payments';
import {
  DRIVEN_BY_TESTS,
  openTimeouts,
  RAW_TIMEOUTS_OPTIONS,
  RESOLVED_TIMEOUTS_OPTIONS,
  type TimeoutsOptions,
} from '../../timeouts';
import { ScriptedPaymentProvider } from '../payments/scripted-payment-provider';

/** What the test kit changes. */
export interface TestKitOptions {
  /** PostgreSQL schema of the tables instead of the module's own, for example one for each worker of the test runner. */
  readonly schema?: string;
  /** Names of scripted payment providers beside those of the module. @default [] */
  readonly payments?: readonly string[];
}

/** The part of Nest's TestingModuleBuilder that is used. */
export interface ModuleBuilder {
  overrideProvider(token: unknown): {
    useFactory(options: { factory: (...dependencies: never[]) => unknown; inject?: unknown[] }): unknown;
  };
}

/** Takes the broker, the clocks, and the payment providers from the module under test. */
export function overrideModule(builder: ModuleBuilder, { schema, payments = [] }: TestKitOptions): void {
  const change = { [DRIVEN_BY_TESTS]: true, ...(schema !== undefined && { schema }) } as const;
  builder.overrideProvider(ORDER_TIMEOUT_OPTIONS).useFactory({
    factory: (raw: OrderTimeoutOptions) => resolveOrderTimeoutOptions({ ...raw, ...change }, { operator: true }),
    inject: [RAW_ORDER_TIMEOUT_OPTIONS],
  });
  builder.overrideProvider(RESOLVED_TIMEOUTS_OPTIONS).useFactory({
    factory: (raw: TimeoutsOptions, clock: Clock) => openTimeouts({ ...raw, ...change }, clock),
    inject: [RAW_TIMEOUTS_OPTIONS, CLOCK],
  });
  builder.overrideProvider(PaymentProviders).useFactory({
    factory: ({ providers }: ResolvedOrderTimeoutOptions) => scripted(providers, payments),
    inject: [ORDER_TIMEOUT_OPTIONS],
  });
}

function scripted(providers: readonly PaymentProvider[], names: readonly string[]): PaymentProviders {
  const ofModule = providers.map((one) => new ScriptedPaymentProvider(one.name, one));
  return new PaymentProviders([...ofModule, ...names.map((name) => new ScriptedPaymentProvider(name))]);
}
