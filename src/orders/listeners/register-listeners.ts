import { InvalidOptionsError } from '../../errors';
import { registeredHandler, type TimeoutEngine } from '../../timeouts';
import { type OrderEventType } from '../order-events';
import { handlerOptionsOf } from './order-listener-options';
import { OrderListenerHandler } from './order-listener-handler';
import { type FoundListener } from './order-listener.explorer';
import { type OrderListeners } from './order-listeners';

/** Start of the kinds whose timeouts are deliveries to listeners. The rest is the listener's name. */
export const LISTENER_KIND = 'order-listener.';

/** A kind has at most 100 characters. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$/;

/** @throws InvalidOptionsError for a listener whose name or options are not valid. */
export function registerListeners(
  found: readonly FoundListener[],
  listeners: OrderListeners,
  engine: Pick<TimeoutEngine, 'register'>,
): void {
  for (const { name, events, when, options, call } of found) {
    const types = events.map((event): OrderEventType => `order.${event}`);
    if (when === 'in-transaction') {
      listeners.join(types, call);
      continue;
    }
    if (!NAME.test(name)) throw new InvalidOptionsError('@OnOrder', [`the name "${name}" must match ${NAME.source}`]);
    const kind = `${LISTENER_KIND}${name}`;
    const handler = new OrderListenerHandler(name, call);
    engine.register([registeredHandler(kind, handler, handlerOptionsOf(name, options))]);
    listeners.subscribe(types, kind);
  }
}
