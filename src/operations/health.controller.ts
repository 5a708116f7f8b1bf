import { Controller, Get, Header, Res } from '@nestjs/common';
import { assessReadiness, type Readiness } from './assess-readiness';
import { ServiceState } from './service-state';

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
    const readiness = assessReadiness(this.state.now(), await this.state.isDatabaseUp());
    if (readiness.status === 'not-ready') response.status(503);
    return readiness;
  }
}
