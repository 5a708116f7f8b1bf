import { Injectable } from '@nestjs/common';
import { DiscoveryService, Reflector } from '@nestjs/core';
import { DuplicateTimeoutHandlerError } from '../timeout-errors';
import { type RegisteredHandler, registeredHandler } from './registered-handler';
import { TIMEOUT_HANDLER_METADATA, type TimeoutHandlerMetadata } from './timeout-handler.decorator';

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
