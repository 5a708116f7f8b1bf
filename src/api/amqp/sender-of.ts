import { type RabbitContext } from '../../rabbit';
import { type ActionContext } from '../../orders';
import { activeTraceparent, traceparentOf } from '../../tracing';

const NAME = /^[\x20-\x7e]{1,128}$/;

/**
 * The sender of a command, for the history: the AMQP property `app-id`, else `user-id`, which the broker has verified.
 */
export function senderOf(context: RabbitContext): ActionContext {
  const { properties } = context.getArgs()[0].message;
  const names: unknown[] = [properties.appId, properties.userId];
  const actor = names.find((name): name is string => typeof name === 'string' && NAME.test(name));
  return { cause: 'command', actor, traceparent: activeTraceparent() ?? traceparentOf(context.traceparent) };
}
