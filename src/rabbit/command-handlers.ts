import { type DiscoveryService, MetadataScanner } from '@nestjs/core';
import { PATTERN_EXTRAS_METADATA, TRANSPORT_METADATA } from '@nestjs/microservices/constants';
import { DuplicateCommandHandlerError } from './duplicate-command-handler-error';
import { RABBIT_TRANSPORT } from './rabbit-transport';

/** The name of a handler that is bound to this transport, as `Class.method`; stored in the handler's extras. */
const NAME = Symbol('order-timeout:command-handler');

/**
 * Knows which handlers of the application are bound to this transport. Nest passes only the extras of a handler's
 * decorator to a server, so the mark is stored there.
 */
export class CommandHandlers {
  private readonly names = new Map<string, string>();

  constructor(private readonly discovery: Pick<DiscoveryService, 'getControllers'>) {}

  /** Must run before Nest adds the handlers. */
  mark(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      if (metatype) markMethods(metatype.name, metatype.prototype as Record<string, object>);
    }
  }

  /** @throws DuplicateCommandHandlerError if another handler has this command. */
  take(command: string, extras: Readonly<Record<PropertyKey, unknown>> = {}): boolean {
    const name = extras[NAME];
    if (typeof name !== 'string') return false;
    const other = this.names.get(command);
    if (other !== undefined) throw new DuplicateCommandHandlerError(command, other, name);
    this.names.set(command, name);
    return true;
  }
}

function markMethods(className: string, prototype: Record<string, object>): void {
  for (const method of new MetadataScanner().getAllMethodNames(prototype)) {
    const handler = prototype[method];
    if (!handler || Reflect.getMetadata(TRANSPORT_METADATA, handler) !== RABBIT_TRANSPORT) continue;
    const extras: unknown = Reflect.getMetadata(PATTERN_EXTRAS_METADATA, handler);
    Reflect.defineMetadata(
      PATTERN_EXTRAS_METADATA,
      { ...(extras as object), [NAME]: `${className}.${method}` },
      handler,
    );
  }
}
