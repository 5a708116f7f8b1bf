import { Controller, Get, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { Metrics } from './metrics';

/** For Prometheus. Needs no API key. */
@Controller({ path: 'metrics', version: VERSION_NEUTRAL })
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  read(@Res({ passthrough: true }) response: { header(name: string, value: string): unknown }): Promise<string> {
    response.header('Content-Type', this.metrics.registry.contentType);
    return this.metrics.read();
  }
}
