import { Controller, Get, Header, Res } from '@nestjs/common';
import { type MomentaryState, ServiceState } from './service-state';

/** What `/health/ready` answers with. */
export interface Readiness extends Omit<MomentaryState, 'isReady'> {
  /** `degraded`: requests are served, but events are delayed or closings are less punctual. */
  readonly status: 'ready' | 'degraded' | 'not-ready';
  readonly engine: 'ready' | 'starting-or-stopping';
  readonly database: 'up' | 'down';
}

/** Probes for an orchestrator. Need no API key. */
@Controller('health')
export class HealthController {
  constructor(private readonly state: ServiceState) {}

  /**
   * Answers as long as the event loop runs. It ignores the database and the broker, because a restart would not fix
   * them.
   */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(): { status: 'alive' } {
    return { status: 'alive' };
  }

  /** 200 if requests can be served. That needs the database, but not the broker. */
  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(@Res({ passthrough: true }) response: { status(code: number): unknown }): Promise<Readiness> {
    const readiness = assess(this.state.now(), await this.state.isDatabaseUp());
    if (readiness.status === 'not-ready') response.status(503);
    return readiness;
  }
}

function assess({ isReady, ...rest }: MomentaryState, isDatabaseUp: boolean): Readiness {
  const isPathFine = rest.messagePath === 'up' || rest.messagePath === 'off';
  const isDegraded = rest.broker === 'down' || !isPathFine || rest.cause !== undefined;
  const status = isReady && isDatabaseUp ? (isDegraded ? 'degraded' : 'ready') : 'not-ready';
  return {
    status,
    engine: isReady ? 'ready' : 'starting-or-stopping',
    database: isDatabaseUp ? 'up' : 'down',
    ...rest,
  };
}
