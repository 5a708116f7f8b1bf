import { Injectable } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { DuplicateOrderListenerError, InvalidOrderListenerError } from './listener-errors';
import { type ListenerMetadata, listenerMetadataOf } from './listener-metadata';

/** A method that listens to orders. */
export interface FoundListener extends ListenerMetadata {
  readonly name: string;
  readonly call: (...given: readonly unknown[]) => unknown;
}

type Methods = Readonly<Record<string, (...given: readonly unknown[]) => unknown>>;

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds the methods marked with @OnOrder and @OnOrderInTransaction, in every module of the application. */
@Injectable()
export class OrderListenerExplorer {
  private readonly scanner = new MetadataScanner();

  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws DuplicateOrderListenerError, or InvalidOrderListenerError for a listener of a request-scoped provider. */
  explore(): FoundListener[] {
    const wrappers = [...this.discovery.getProviders(), ...this.discovery.getControllers()];
    const byInstance = new Map<unknown, Wrapper>();
    for (const wrapper of wrappers) {
      const instance: unknown = wrapper.instance;
      if (typeof instance === 'object' && instance !== null) byInstance.set(instance, wrapper);
    }
    const found = [...byInstance.values()].flatMap((wrapper) => this.listenersOf(wrapper));
    refuseDuplicates(found);
    return found;
  }

  private listenersOf(wrapper: Wrapper): FoundListener[] {
    const instance = wrapper.instance as object;
    const prototype = Object.getPrototypeOf(instance) as object | null;
    if (prototype === null) return [];
    return this.scanner.getAllMethodNames(prototype).flatMap((method) => {
      const call = (prototype as Methods)[method];
      const metadata = call && listenerMetadataOf(call);
      if (!metadata) return [];
      const place = `${instance.constructor.name}.${method}`;
      if (!wrapper.isDependencyTreeStatic())
        throw new InvalidOrderListenerError(place, 'belongs to a request; move it to a provider of the default scope');
      return [{ ...metadata, name: metadata.options.name ?? place, call: call.bind(instance) }];
    });
  }
}

function refuseDuplicates(found: readonly FoundListener[]): void {
  const names = new Set<string>();
  for (const { name } of found) {
    if (names.has(name)) throw new DuplicateOrderListenerError(name);
    names.add(name);
  }
}
