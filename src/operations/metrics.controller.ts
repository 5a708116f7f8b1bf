import { Controller, Get, Header } from '@nestjs/common';
import { Metrics } from './metrics';

/** For Prometheus; no API key. */
@Controller('metrics')
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  read(): Promise<string> {
    return this.metrics.read();
  }
}
