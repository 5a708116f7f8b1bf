import { Body, HttpCode, Param, Post } from '@nestjs/common';
import { fields } from '../../orders/input';
import { PaymentProviders } from '../../payments';
import { type ControlChange, type ControlReason, TimeoutEngine } from '../../timeouts';
import { InputPipe, providerLimitSchema, reasonSchema, RequestRejectedError } from '../input';
import { CallerScope, type MerchantScope } from '../http';
import { ByOperator, type OperatorContext } from './by-operator.decorator';
import { OperatorController } from './operator-controller.decorator';
import { RequireRole } from './operator.guard';

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
    if (!this.providers.get(name)) throw unknownProvider(name, this.providers.names());
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
  return new RequestRejectedError('VALIDATION_FAILED', `kind ${message}`, { errors: [{ path: 'kind', message }] });
}

function unknownProvider(provider: string, configured: readonly string[]): RequestRejectedError {
  const reason = `payment provider "${provider}" is not configured (configured: ${configured.join(', ') || 'none'})`;
  return new RequestRejectedError('PROVIDER_NOT_CONFIGURED', reason, { provider });
}
