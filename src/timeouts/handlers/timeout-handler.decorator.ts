import { SetMetadata } from '@nestjs/common';

/** Per-kind tuning. */
export interface TimeoutHandlerOptions {
  /** Deliveries in this process at once, held ones included. @default 1000 */
  readonly prefetch?: number;
  /** Most timeouts in one transaction. @default 200 of `handleBatch`, 1 of `handle` */
  readonly batchSize?: number;
  /** Transactions of this kind at once in this process, each with a connection. @default 2 of `handleBatch`, 5 of `handle` */
  readonly concurrency?: number;
  /** `lookUp` calls of this kind at once in this process. @default 200 */
  readonly lookUpConcurrency?: number;
  /** Counted failures before parking. @default 5 */
  readonly maxAttempts?: number;
  /** How long `lookUp` may take, and how long others keep off, milliseconds. @default 20000 */
  readonly leaseMs?: number;
  /**
   * How long one call of `handle` or `handleBatch` may take, milliseconds. Then its connection is cut, its transaction is
   * rolled back, and an attempt is counted for the timeout that hangs. @default 30000
   */
  readonly runTimeoutMs?: number;
  /**
   * How long it may pause between two statements, milliseconds; then PostgreSQL ends its session. A frozen
   * process keeps the locks of its transactions this long. @default runTimeoutMs + 1000
   */
  readonly idleTimeoutMs?: number;
  /**
   * How long one statement may take, milliseconds. Then PostgreSQL cancels it; without an answer, its connection is closed a
   * second later. The timeout is tried again, and no attempt is counted. @default runTimeoutMs
   */
  readonly statementTimeoutMs?: number;
}

/** @internal */
export interface TimeoutHandlerMetadata {
  readonly kind: string;
  readonly options: TimeoutHandlerOptions;
}

/** @internal */
export const TIMEOUT_HANDLER_METADATA = 'order-timeout:timeout-handler';

/**
 * Marks a provider as the handler of a timeout kind. Exactly one per kind: a second one, or a class that has
 * neither `handle` nor `handleBatch`, stops the boot.
 */
export function TimeoutHandler(kind: string, options: TimeoutHandlerOptions = {}): ClassDecorator {
  return SetMetadata(TIMEOUT_HANDLER_METADATA, { kind, options } satisfies TimeoutHandlerMetadata);
}
