import { type LoggerService } from '@nestjs/common';

/** Logs when something begins to fail and when it works again, once each: what is down fails thousands of times. */
export class FailureLog {
  private failures = 0;

  /** @param threshold consecutive failures from which on it fails */
  constructor(
    private readonly logger: Pick<LoggerService, 'log' | 'warn'>,
    private readonly threshold = 1,
  ) {}

  failed(message: string): void {
    this.failures += 1;
    if (this.failures === this.threshold) this.logger.warn(message);
  }

  worked(message: string): void {
    if (this.failures >= this.threshold) this.logger.log(message);
    this.failures = 0;
  }
}
