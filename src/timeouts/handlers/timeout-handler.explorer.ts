import { Injectable } from '@nestjs/common';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { InvalidOptionsError } from '../../errors';
import { type RegisteredHandler } from './registered-handler';
import { resolveHandlerOptions } from './resolve-handler-options';
import { DuplicateTimeoutHandlerError, InvalidTimeoutHandlerError } from '../timeout-errors';
import { isBatchHandler, type TimeoutHandlerInstance } from './timeout-handler';
import { TIMEOUT_HANDLER_METADATA, type TimeoutHandlerMetadata } from './timeout-handler.decorator';
import { isValidKind } from '../scheduling/validate-requests';

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
    return [...byKind.values()].map((found) => register(found));
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

function register({ kind, options, instance, name }: Found): RegisteredHandler {
  if (!isValidKind(kind)) throw new InvalidOptionsError(name, [`"${kind}" cannot be a timeout kind`]);
  if (!canHandle(instance)) throw new InvalidTimeoutHandlerError(kind, name);
  const takes = isBatchHandler(instance) ? 'batches' : 'single timeouts';
  return { kind, options: resolveHandlerOptions(kind, options, takes), handler: instance };
}

function canHandle(instance: object): instance is TimeoutHandlerInstance {
  const { handle, handleBatch } = instance as { handle?: unknown; handleBatch?: unknown };
  return typeof handle === 'function' || typeof handleBatch === 'function';
}
