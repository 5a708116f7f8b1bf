import { type OrderEventName } from './order-event';
import { type OrderListenerOptions } from './order-listener-options';
import { InvalidOrderListenerError } from './listener-errors';

const METADATA = 'order-timeout:order-listener';

/** What a decorator says of a method. */
export interface ListenerMetadata {
  readonly events: readonly OrderEventName[];
  readonly when: 'in-transaction' | 'after-commit';
  readonly options: OrderListenerOptions;
}

/** @throws InvalidOrderListenerError if the method has a decorator of ours already. */
export function markListener(metadata: ListenerMetadata) {
  return (target: object, key: string | symbol, descriptor: { value?: unknown }): void => {
    const method = descriptor.value as object;
    if (listenerMetadataOf(method))
      throw new InvalidOrderListenerError(
        `${target.constructor.name}.${String(key)}`,
        'has two decorators; name all its events in one, as a list',
      );
    Reflect.defineMetadata(METADATA, metadata, method);
  };
}

export function listenerMetadataOf(method: object): ListenerMetadata | undefined {
  return Reflect.getMetadata(METADATA, method) as ListenerMetadata | undefined;
}
