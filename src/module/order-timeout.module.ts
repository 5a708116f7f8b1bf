import {
  type DynamicModule,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import {
  assertBesideFactory,
  type OrderTimeoutExtras,
  type ResolvedOrderTimeoutOptions,
  ORDER_TIMEOUT_OPTIONS,
  type OrderTimeoutModuleAsyncOptions,
  type OrderTimeoutModuleOptions,
  OrderTimeoutOptionsModule,
  routePrefix,
} from './order-timeout-options';
import { CLOCK, type Clock, PollingLoop, withTimeout } from '../clock';
import { assertMigrated } from './migrations';
import { migrateTarget } from './migrate';
import { ORDER_TIMEOUT_PROVIDERS } from './order-timeout.providers';
import { OrderCommandsController, RequestsController, StockCommandsController } from '../api/amqp';
import {
  BulkActionsController,
  DocumentsController,
  InventoryController,
  OrderActionsController,
  OrdersController,
  ParkedTimeoutsController,
  PaymentNotificationsController,
  TimeoutOperatorController,
  UnmatchedPaymentsController,
} from '../api/http';
import { OPERATOR_CONTROLLERS, OPERATOR_PAGE_PROVIDERS } from '../api/operator';
import { InvalidOptionsError } from '../errors';
import {
  findSilentListeners,
  OrderListenerExplorer,
  OrderListeners,
  OrderPolicies,
  registerListeners,
} from '../orders';
import {
  assertTables,
  refuseSecondImport,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutEngine,
  TimeoutsModule,
} from '../timeouts';
import { NewerSchemaError, retryWhileUnavailable } from '../database';
import { Webhooks } from '../webhooks';

const HTTP_CONTROLLERS = [
  OrdersController,
  BulkActionsController,
  OrderActionsController,
  InventoryController,
  ParkedTimeoutsController,
  TimeoutOperatorController,
  PaymentNotificationsController,
  UnmatchedPaymentsController,
];

const AMQP_CONTROLLERS = [OrderCommandsController, StockCommandsController, RequestsController];

/** How often an instance looks whether a newer release has migrated the schema. */
const LOOK_MS = 5_000;
const LAST_LOOK_MS = 2_000;

/**
 * Closes unpaid orders on time: the engine, orders, stock, and payments in one module. To consume AMQP commands, call
 * `app.connectMicroservice({ strategy: app.get(RabbitServer) })`.
 */
@Module({})
export class OrderTimeoutModule implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(OrderTimeoutModule.name);
  private readonly watch: PollingLoop;

  /** @internal Nest creates it. */
  constructor(
    @Inject(ORDER_TIMEOUT_OPTIONS) private readonly options: ResolvedOrderTimeoutOptions,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly timeouts: ResolvedTimeoutsOptions,
    @Inject(CLOCK) private readonly clock: Clock,
    private readonly engine: TimeoutEngine,
    private readonly explorer: OrderListenerExplorer,
    private readonly listeners: OrderListeners,
    private readonly policies: OrderPolicies,
    private readonly webhooks: Webhooks,
    modules: ModulesContainer,
  ) {
    refuseSecondImport(modules, OrderTimeoutModule);
    this.watch = new PollingLoop(clock, { name: 'release', runOnce: () => this.stepAside(), intervalMs: LOOK_MS });
  }

  static forRoot(options: OrderTimeoutModuleOptions): DynamicModule {
    return compose(OrderTimeoutOptionsModule.forRoot(options), options);
  }

  /** Give `http`, `contract`, `operator`, `path`, and `isGlobal` beside `useFactory`, because they decide what the module consists of. */
  static forRootAsync(options: OrderTimeoutModuleAsyncOptions): DynamicModule {
    assertBesideFactory(options);
    return compose(OrderTimeoutOptionsModule.forRootAsync(options), options);
  }

  /** Runs before the engine, which starts at bootstrap. */
  async onModuleInit(): Promise<void> {
    if (this.options.providers.length === 0) {
      this.logger.warn(
        'no payment provider is configured: orders with payment attempts cannot be closed and are parked',
      );
    }
    this.registerListeners();
    this.webhooks.register();
    await retryWhileUnavailable(this.clock, () => this.prepareTables());
    await retryWhileUnavailable(this.clock, () => this.webhooks.registerRemoved());
  }

  onApplicationBootstrap(): void {
    if (!this.timeouts.isDormant && !this.timeouts.isDrivenByTests) this.watch.start();
  }

  /** Waits for a look that runs, but not for long: a pool of a host may not answer. */
  async onModuleDestroy(): Promise<void> {
    await withTimeout(this.clock, LAST_LOOK_MS, this.watch.stop(), undefined);
  }

  /**
   * Stops the engine when a newer release, which this one cannot work with, has migrated the schema: the process is then not
   * ready, and the newer release does the work. It would only fail, and wear out timeouts and commands.
   */
  private async stepAside(): Promise<void> {
    const { dataSource, schema } = this.timeouts;
    const problem = await assertMigrated(dataSource, schema).catch((error: unknown) => error);
    if (!(problem instanceof NewerSchemaError)) return;
    this.logger.error(`this instance stops its work: ${problem.message}`);
    void this.watch.stop();
    await this.engine.stop();
  }

  private registerListeners(): void {
    const found = this.explorer.explore();
    registerListeners(found, this.listeners, this.engine);
    const silent = findSilentListeners(found, this.policies);
    if (silent.length === 0) return;
    this.logger.warn(`${silent.join(', ')} will hear of no placed order; set the policy orders.placedEvents to "send"`);
  }

  private async prepareTables(): Promise<void> {
    const { dataSource, schema, ownsDatabase } = this.timeouts;
    if (this.options.migrate) await migrateTarget({ dataSource, schema, ownsDatabase });
    else await assertMigrated(dataSource, schema);
    await assertTables(dataSource, schema, 'all');
  }
}

function compose(options: DynamicModule, extras: OrderTimeoutExtras): DynamicModule {
  const { isGlobal = true, http = false, contract = false, operator = false } = extras;
  if (contract && !http) throw new InvalidOptionsError('OrderTimeoutModule', ['contract needs http: true']);
  const timeouts = TimeoutsModule.forRootAsync({
    isGlobal,
    imports: [options],
    inject: [ORDER_TIMEOUT_OPTIONS],
    useFactory: (resolved: ResolvedOrderTimeoutOptions) => resolved.timeouts,
  });
  return {
    module: OrderTimeoutModule,
    global: isGlobal,
    imports: [DiscoveryModule, options, timeouts, ...routePrefix(OrderTimeoutModule, extras)],
    providers: [...ORDER_TIMEOUT_PROVIDERS, ...(operator ? OPERATOR_PAGE_PROVIDERS : [])],
    controllers: [
      ...(http ? HTTP_CONTROLLERS : []),
      ...(contract ? [DocumentsController] : []),
      ...(operator ? OPERATOR_CONTROLLERS : []),
      ...AMQP_CONTROLLERS,
    ],
    exports: [timeouts, ...ORDER_TIMEOUT_PROVIDERS],
  };
}
