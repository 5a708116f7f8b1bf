import { SetMetadata, Injectable } from '@nestjs/common';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { z } from 'zod';
import { integer, InvalidOptionsError, optionsOf, parseOptions, withoutUndefined } from '../../errors';
import { isValidKind } from '../scheduling/timeout-scheduler';
import { InvalidTimeoutHandlerError, DuplicateTimeoutHandlerError } from '../model/errors';
import { isBatchHandler, type TimeoutHandlerInstance } from '../model/timeout';

/**
 * For the package's own kinds, not for hosts: if a table is refused to one of them, the service is not ready. A host's handler
 * may need a table that nobody else needs.
 */
export const OWN_KIND = Symbol('order-timeout:own-kind');

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
  /** @internal */
  readonly [OWN_KIND]?: true;
}

/** @internal */
interface TimeoutHandlerMetadata {
  readonly kind: string;
  readonly options: TimeoutHandlerOptions;
}

/** @internal */
const TIMEOUT_HANDLER_METADATA = 'order-timeout:timeout-handler';

/**
 * Marks a provider as the handler of a timeout kind. Exactly one per kind: a second one, or a class that has
 * neither `handle` nor `handleBatch`, stops the boot.
 */
export function TimeoutHandler(kind: string, options: TimeoutHandlerOptions = {}): ClassDecorator {
  return SetMetadata(TIMEOUT_HANDLER_METADATA, { kind, options } satisfies TimeoutHandlerMetadata);
}

/** A handler with its kind, and its options checked. */
export interface RegisteredHandler {
  readonly kind: string;
  readonly options: ResolvedHandlerOptions;
  readonly handler: TimeoutHandlerInstance;
  /** Of the package itself. */
  readonly isOwn: boolean;
}

/** @throws when the kind or the options are not valid, or the instance cannot handle. */
export function registeredHandler(
  kind: string,
  instance: object,
  options: TimeoutHandlerOptions = {},
): RegisteredHandler {
  const { name } = instance.constructor;
  if (!isValidKind(kind)) throw new InvalidOptionsError(name, [`"${kind}" cannot be a timeout kind`]);
  if (!canHandle(instance)) throw new InvalidTimeoutHandlerError(kind, name);
  const takes = isBatchHandler(instance) ? 'batches' : 'single timeouts';
  const isOwn = options[OWN_KIND] === true;
  return { kind, options: resolveHandlerOptions(kind, options, takes), handler: instance, isOwn };
}

function canHandle(instance: object): instance is TimeoutHandlerInstance {
  const { handle, handleBatch } = instance as { handle?: unknown; handleBatch?: unknown };
  return typeof handle === 'function' || typeof handleBatch === 'function';
}

type ResolvedHandlerOptions = Required<Omit<TimeoutHandlerOptions, typeof OWN_KIND>>;

/**
 * A handler of single timeouts gets a transaction for each. Together in one they would keep each other's row locks until
 * its end, and two such transactions that touch shared rows in different orders end in a deadlock, a second each time.
 */
const SINGLE_DEFAULTS = { batchSize: 1, concurrency: 5 } as const;

/** The server must not end a session whose handler is still within its time. */
const IDLE_MARGIN_MS = 1_000;

/** From the smallest sensible value to what a 16-bit prefetch or a readable transaction bears. */
const handlerOptions = optionsOf({
  prefetch: integer(1, 65_535).default(1_000),
  batchSize: integer(1, 5_000).default(200),
  concurrency: integer(1, 64).default(2),
  lookUpConcurrency: integer(1, 10_000).default(200),
  maxAttempts: integer(1, 1_000).default(5),
  leaseMs: integer(3_000, 600_000).default(20_000),
  runTimeoutMs: integer(100, 600_000).default(30_000),
  idleTimeoutMs: integer(100, 660_000).exactOptional(),
  statementTimeoutMs: integer(100, 600_000).exactOptional(),
} satisfies Record<keyof ResolvedHandlerOptions, z.ZodType>);

/** @throws InvalidOptionsError naming every value out of range. */
export function resolveHandlerOptions(
  kind: string,
  options: TimeoutHandlerOptions,
  takes: 'batches' | 'single timeouts',
): ResolvedHandlerOptions {
  const given = { ...(takes === 'single timeouts' && SINGLE_DEFAULTS), ...withoutUndefined(options) };
  const resolved = parseOptions(`@TimeoutHandler('${kind}')`, handlerOptions, given);
  const { runTimeoutMs } = resolved;
  return Object.freeze({
    idleTimeoutMs: runTimeoutMs + IDLE_MARGIN_MS,
    statementTimeoutMs: runTimeoutMs,
    ...resolved,
  });
}

interface Found extends TimeoutHandlerMetadata {
  readonly instance: object;
  readonly name: string;
}

/** Finds the providers marked with @TimeoutHandler, in every module of the application. */
@Injectable()
export class TimeoutHandlerExplorer {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly reflector: Reflector,
  ) {}

  /** @throws when a kind has two handlers, a handler cannot handle, or its options are out of range. */
  explore(): RegisteredHandler[] {
    const byKind = new Map<string, Found>();
    for (const found of this.find()) {
      const other = byKind.get(found.kind);
      if (other && other.instance !== found.instance) {
        throw new DuplicateTimeoutHandlerError(found.kind, other.name, found.name);
      }
      byKind.set(found.kind, found);
    }
    return [...byKind.values()].map(({ kind, instance, options }) => registeredHandler(kind, instance, options));
  }

  private find(): Found[] {
    return this.discovery.getProviders().flatMap((wrapper) => {
      const instance: unknown = wrapper.instance;
      if (typeof instance !== 'object' || instance === null) return [];
      // The class of the instance, as a useFactory or useValue provider has no metatype of its own.
      const metadata = this.reflector.get<TimeoutHandlerMetadata | undefined>(
        TIMEOUT_HANDLER_METADATA,
        instance.constructor,
      );
      return metadata ? [{ ...metadata, instance, name: instance.constructor.name }] : [];
    });
  }
}
