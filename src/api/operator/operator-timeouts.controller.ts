import { Body, Get, HttpCode, Inject, Post, Query, Param } from '@nestjs/common';
import { type z } from 'zod';
import { merchantTimeouts } from '../../orders';
import {
  type ParkedGroup,
  RESOLVED_TIMEOUTS_OPTIONS,
  type ResolvedTimeoutsOptions,
  type TimeoutScope,
  TimeoutSummary,
  type ControlChange,
  type ControlReason,
  TimeoutEngine,
} from '../../timeouts';
import { type ParkedRow } from '../../outbox';
import { fields } from '../../orders/input';
import { PaymentProviders } from '../../payments';
import {
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
import { ByOperator, CallerScope, type MerchantScope, type OperatorContext, RequireRole } from '../http';
import { type TimeoutView, toTimeoutView } from './order-page';
import { OperatorController } from './page-actions';
import { ParkedWork, BrokerMessages, type ParkedMessageView } from './parked-work';

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
    const found = await this.summary.parkedPage({ ...others, after: { kind, key } }, this.within(scope));
    return found.map(toTimeoutView);
  }

  @Get('groups')
  @RequireRole('read')
  groups(@CallerScope() scope: MerchantScope): Promise<ParkedGroup[]> {
    return this.summary.parkedGroups(this.within(scope));
  }

  @Post('replay')
  @HttpCode(200)
  @RequireRole('operate')
  async replay(
    @Body(new InputPipe(operatorTimeoutsSchema)) { timeouts, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: 'replay' }, timeouts, scope, { by, reason }) };
  }

  @Post('reschedule')
  @HttpCode(200)
  @RequireRole('operate')
  async reschedule(
    @Body(new InputPipe(operatorRescheduleSchema)) { timeouts, reason, afterMs }: Chosen & { afterMs: number },
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: 'reschedule', afterMs }, timeouts, scope, { by, reason }) };
  }

  @Post('discard')
  @HttpCode(200)
  @RequireRole('operate')
  async discard(
    @Body(new InputPipe(operatorTimeoutsSchema)) { timeouts, reason }: Chosen,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    return { count: await this.work.timeouts({ do: 'discard' }, timeouts, scope, { by, reason }) };
  }

  private within({ merchants }: MerchantScope): TimeoutScope | undefined {
    return merchants && merchantTimeouts(this.options.schema, merchants);
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

  @Post('outbox/parked/replay')
  @HttpCode(200)
  @RequireRole('operate')
  async replayRows(
    @Body(new InputPipe(chosenRowsSchema)) { ids, reason }: ChosenMessages,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    assertForAllMessages(scope);
    return { count: await this.work.changeRows('replay', ids, { by, reason }) };
  }

  @Post('outbox/parked/discard')
  @HttpCode(200)
  @RequireRole('operate')
  async discardRows(
    @Body(new InputPipe(chosenRowsSchema)) { ids, reason }: ChosenMessages,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number }> {
    assertForAllMessages(scope);
    return { count: await this.work.changeRows('discard', ids, { by, reason }) };
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

  @Post('messages/parked/replay')
  @HttpCode(200)
  @RequireRole('operate')
  replay(
    @Body(new InputPipe(chosenMessagesSchema)) { ids, reason }: ChosenMessages,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number | null }> {
    return this.change('replay', ids, scope, { by, reason });
  }

  @Post('messages/parked/discard')
  @HttpCode(200)
  @RequireRole('operate')
  discard(
    @Body(new InputPipe(chosenMessagesSchema)) { ids, reason }: ChosenMessages,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<{ count: number | null }> {
    return this.change('discard', ids, scope, { by, reason });
  }

  private async change(
    action: 'replay' | 'discard',
    ids: readonly string[],
    scope: MerchantScope,
    because: { readonly by: OperatorContext; readonly reason: string },
  ): Promise<{ count: number | null }> {
    assertForAllMessages(scope);
    return { count: await this.work.changeMessages(action, ids, because) };
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

  @Post('kinds/:kind/pause')
  @HttpCode(200)
  @RequireRole('operate')
  pauseKind(
    @Param('kind') kind: string,
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<KindView> {
    return this.changeKind(kind, true, scope, { by: by.actor, reason });
  }

  @Post('kinds/:kind/resume')
  @HttpCode(200)
  @RequireRole('operate')
  resumeKind(
    @Param('kind') kind: string,
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<KindView> {
    return this.changeKind(kind, false, scope, { by: by.actor, reason });
  }

  @Post('providers/:name/pause')
  @HttpCode(200)
  @RequireRole('operate')
  pauseProvider(
    @Param('name', providerName) name: string,
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<ProviderView> {
    return this.changeProvider(name, { pause: true }, scope, { by: by.actor, reason });
  }

  @Post('providers/:name/resume')
  @HttpCode(200)
  @RequireRole('operate')
  resumeProvider(
    @Param('name', providerName) name: string,
    @Body(new InputPipe(reasonSchema)) { reason }: Because,
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<ProviderView> {
    return this.changeProvider(name, { pause: false }, scope, { by: by.actor, reason });
  }

  @Post('providers/:name/limit')
  @HttpCode(200)
  @RequireRole('operate')
  limitProvider(
    @Param('name', providerName) name: string,
    @Body(new InputPipe(providerLimitSchema)) { reason, perSecond }: Because & { perSecond: number | null },
    @ByOperator() by: OperatorContext,
    @CallerScope() scope: MerchantScope,
  ): Promise<ProviderView> {
    return this.changeProvider(name, { perSecond }, scope, { by: by.actor, reason });
  }

  private async changeKind(kind: string, pause: boolean, scope: MerchantScope, why: Why): Promise<KindView> {
    assertForAll(scope);
    const { kinds, controls } = this.engine;
    if (!kinds.includes(kind)) throw unknownKind(kinds);
    const changed = await controls.change(`kind:${kind}`, { pause }, why);
    return { kind, paused: changed.pause !== null, pause: changed.pause };
  }

  private async changeProvider(
    name: string,
    change: ControlChange,
    scope: MerchantScope,
    why: Why,
  ): Promise<ProviderView> {
    assertForAll(scope);
    if (!this.providers.get(name)) {
      throw reject('', { code: 'PROVIDER_NOT_CONFIGURED', provider: name, configured: this.providers.names() });
    }
    const { pause, limit } = await this.engine.controls.change(`provider:${name}`, change, why);
    return { name, paused: pause !== null, pause, limitPerSecond: limit?.perSecond ?? null };
  }
}

interface Why {
  readonly by: string;
  readonly reason: string;
}

function assertForAll(scope: MerchantScope): void {
  if (scope.isRestricted) throw scope.forbidden('kinds and providers serve all merchants');
}

function unknownKind(kinds: readonly string[]): RequestRejectedError {
  const message = `must be one of ${kinds.join(', ')}`;
  return reject('', { code: 'VALIDATION_FAILED', errors: [{ path: 'kind', message }] });
}
