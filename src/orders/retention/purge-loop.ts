import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { type Clock, PollingLoop } from '../../clock';
import { type Purge } from './purge';

/** Long enough that the purge does not compete with the work of a start. */
const FIRST_PAUSE_MS = 60_000;
/** Pause between two runs of a walk: at most half of the time is spent on purging. */
const PAUSE_MS = 1_000;
const RUN_LIMIT_MS = 600_000;

/** Runs the purge in the background, from one minute after the start. */
export class PurgeLoop implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(PurgeLoop.name);
  private readonly loop: PollingLoop;
  private hasStarted = false;
  private pauseMs = FIRST_PAUSE_MS;

  constructor(
    private readonly purge: Purge,
    private readonly deps: { readonly intervalMs: number; readonly isOn: boolean },
    clock: Clock,
  ) {
    this.loop = new PollingLoop(clock, {
      name: 'purge',
      runOnce: (signal) => this.runOnce(signal),
      intervalMs: () => this.pauseMs,
      limitMs: RUN_LIMIT_MS,
    });
  }

  onApplicationBootstrap(): void {
    if (this.deps.isOn && this.purge.isOn) this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }

  private async runOnce(signal: AbortSignal): Promise<boolean> {
    if (!this.hasStarted) {
      this.hasStarted = true;
      return false;
    }
    const { orders, idempotencyKeys, settledMoney, hasMore } = await this.purge.runOnce(signal);
    if (orders + idempotencyKeys + settledMoney > 0) {
      this.logger.log(`purged ${orders} orders, ${idempotencyKeys} idempotency keys, ${settledMoney} settled payments`);
    }
    this.pauseMs = hasMore ? PAUSE_MS : this.deps.intervalMs;
    return false;
  }
}
