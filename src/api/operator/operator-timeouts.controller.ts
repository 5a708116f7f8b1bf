import { Body, Get, Inject, Param, type PipeTransform, Query } from '@nestjs/common';
import { type z } from 'zod';
import {
  type ParkedGroup,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  TimeoutSummary,
  type ControlChange,
  type ControlReason,
  TimeoutEngine,
} from '../../timeouts';
import { type ParkedRow } from '../../outbox';
import { fields } from '../../orders/input';
import { PaymentProviders } from '../../payments';
import {
  HttpProblem,
  InputPipe,
  operatorParkedPageSchema,
  operatorRescheduleSchema,
  operatorTimeoutsSchema,
  chosenMessagesSchema,
  chosenRowsSchema,
  operatorPageLimitSchema,
  providerLimitSchema,
  reasonSchema,
  reject,
  type RequestRejectedError,
} from '../input';
import { Action, ByOperator, CallerScope, type MerchantScope, type OperatorContext, RequireRole } from '../http';
import { type TimeoutView, toTimeoutView } from './order-page';
import { OperatorController } from './page-actions';
import { ParkedWork, BrokerMessages, type ParkedMessageView } from './parked-work';

/** The end of a path that names one of these actions. */
function oneOf<T extends string>(...actions: readonly T[]): PipeTransform<string, T> {
  return {
    transform: (value) => {
      const found = actions.find((action) => action === value);
      if (found === undefined) throw new HttpProblem('ROUTE_NOT_FOUND', `there is no action ${value}`);
      return found;
    },
  };
}

const replayOrDiscard = oneOf('replay', 'discard');
const pauseOrResume = oneOf('pause', 'resume');

type Chosen = z.output<typeof operatorTimeoutsSchema>;

/** Parked timeouts. A key that is limited to merchants sees only those of their orders. */
@OperatorController('api/parked-timeouts')
export class OperatorTimeoutsController {
  constructor(
    private readonly summary: TimeoutSummary,
    private readonly work: ParkedWork,
    @Inject(RESOLVED_TIMEOUTS_OPTIONS) private readonly options: ResolvedTimeoutsOptions,
  ) {}

  /** By kind and key. `afterKind` and `afterKey` are those of the last entry of the previous page. */
  @Get()
  @RequireRole('read')
  async list(
    @Query(new InputPipe(operatorParkedPageSchema)) page: z.output<typeof operatorParkedPageSchema>,
    @CallerScope() scope: MerchantScope,
  ): Promise<TimeoutView[]> {
    const { afterKind: kind, afterKey: key, ...others } = page;
    const found = await this.summary.parkedPage(
      { ...others, after: { kind, key } },
      scope.timeouts(this.options.schema),
    );
    return found.map(toTimeoutView);
  }

  @Get('groups')
  @RequireRole('read')
  groups(@CallerScope() scope: MerchantScope): Promise<ParkedGroup[]> {
    return this.summary.parkedGroups(scope.timeouts(this.options.schema));
  }

  @Action('reschedule')
  @RequireRole('operate')
  async reschedule(
    @Body(new InputPipe(operatorRescheduleSchema)) { timeouts, reason, afterMs }: Chosen & { afterMs: number },
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: 'reschedule', afterMs }, timeouts, scope, { by, reason }) };
  }

  @Action(':action')
  @RequireRole('operate')
  async change(
    @Param('action', replayOrDiscard) action: 'replay' | 'discard',
    @Body(new InputPipe(operatorTimeoutsSchema)) { timeouts, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: action }, timeouts, scope, { by, reason }) };
  }
}

interface ChosenMessages {
  readonly ids: string[];
  readonly reason: string;
}

type Limit = z.output<typeof operatorPageLimitSchema>;

/** Parked messages: in the outbox, and on the broker. Refused for keys that are limited to merchants. */
@OperatorController('api')
export class OperatorMessagesController {
  constructor(
    private readonly work: ParkedWork,
    private readonly messages: BrokerMessages,
  ) {}

  @Get('outbox/parked')
  @RequireRole('read')
  rows(
    @Query(new InputPipe(operatorPageLimitSchema)) { limit }: Limit,
    @CallerScope() scope: MerchantScope,
  ): Promise<ParkedRow[]> {
    assertForAllMessages(scope);
    return this.work.rows(limit);
  }

  @Action('outbox/parked/:action')
  @RequireRole('operate')
  async changeRows(
    @Param('action', replayOrDiscard) action: 'replay' | 'discard',
    @Body(new InputPipe(chosenRowsSchema)) { ids, reason }: ChosenMessages,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    assertForAllMessages(scope);
    return { count: await this.work.changeRows(action, ids, { by, reason }) };
  }

  /** Null: there is no broker, or it does not answer. */
  @Get('messages/parked')
  @RequireRole('read')
  async list(
    @Query(new InputPipe(operatorPageLimitSchema)) { limit }: Limit,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ messages: ParkedMessageView[] | null }> {
    assertForAllMessages(scope);
    return { messages: await this.messages.list(limit) };
  }

  @Action('messages/parked/:action')
  @RequireRole('operate')
  async change(
    @Param('action', replayOrDiscard) action: 'replay' | 'discard',
    @Body(new InputPipe(chosenMessagesSchema)) { ids, reason }: ChosenMessages,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number | null }> {
    assertForAllMessages(scope);
    return { count: await this.work.changeMessages(action, ids, { by, reason }) };
  }
}

/** Messages do not say to which merchant they belong. */
function assertForAllMessages(scope: MerchantScope): void {
  if (scope.isRestricted) throw scope.forbidden('messages of all merchants are kept together');
}

const providerName = new InputPipe(fields.provider);

interface Because {
  readonly reason: string;
}

interface KindView {
  readonly kind: string;
  readonly paused: boolean;
  readonly pause: ControlReason | null;
}

interface ProviderView extends Omit<KindView, 'kind'> {
  readonly name: string;
  readonly limitPerSecond: number | null;
}

/** Pauses and resumes kinds of timeouts and providers. Refused for keys that are limited to merchants. */
@OperatorController('api')
export class OperatorControlsController {
  constructor(
    private readonly engine: TimeoutEngine,
    private readonly providers: PaymentProviders,
  ) {}

  @Action('kinds/:kind/:action')
  @RequireRole('operate')
  async changeKind(
    @Param('kind') kind: string,
    @Param('action', pauseOrResume) action: 'pause' | 'resume',
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() { actor: by }: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<KindView> {
    assertForAll(scope);
    const { kinds, controls } = this.engine;
    if (!kinds.includes(kind)) throw unknownKind(kinds);
    const { pause } = await controls.change(`kind:${kind}`, { pause: action === 'pause' }, { by, reason });
    return { kind, paused: pause !== null, pause };
  }

  @Action('providers/:name/limit')
  @RequireRole('operate')
  limitProvider(
    @Param('name', providerName) name: string,
    @Body(new InputPipe(providerLimitSchema)) { reason, perSecond }: Because & { perSecond: number | null },
    @ByOperator() { actor: by }: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<ProviderView> {
    return this.changeProvider(name, { perSecond }, scope, { by, reason });
  }

  @Action('providers/:name/:action')
  @RequireRole('operate')
  pauseProvider(
    @Param('name', providerName) name: string,
    @Param('action', pauseOrResume) action: 'pause' | 'resume',
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() { actor: by }: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<ProviderView> {
    return this.changeProvider(name, { pause: action === 'pause' }, scope, { by, reason });
  }

  private async changeProvider(
    name: string,
    change: ControlChange,
    scope: MerchantScope,
    why: Because & { readonly by: string },
  ): Promise<ProviderView> {
    assertForAll(scope);
    if (!this.providers.get(name)) {
      throw reject('', { code: 'PROVIDER_NOT_CONFIGURED', provider: name, configured: this.providers.names() });
    }
    const { pause, limit } = await this.engine.controls.change(`provider:${name}`, change, why);
    return { name, paused: pause !== null, pause, limitPerSecond: limit?.perSecond ?? null };
  }
}

function assertForAll(scope: MerchantScope): void {
  if (scope.isRestricted) throw scope.forbidden('kinds and providers serve all merchants');
}

function unknownKind(kinds: readonly string[]): RequestRejectedError {
  const message = `must be one of ${kinds.join(', ')}`;
  return reject('', { code: 'VALIDATION_FAILED', errors: [{ path: 'kind', message }] });
}
