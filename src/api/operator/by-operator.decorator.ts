import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type ActionContext } from '../../orders';
import { activeTraceparent, traceparentOf } from '../../tracing';
import { type OperatorRequest } from './operator-request';

/** Who acts. */
export interface OperatorContext extends ActionContext {
  readonly cause: 'operator';
  readonly actor: string;
}

/** Parameter: the operator who makes the request, for the history. */
export const ByOperator = createParamDecorator((_: unknown, context: ExecutionContext): OperatorContext => {
  const { orderTimeoutActor, headers } = context.switchToHttp().getRequest<OperatorRequest>();
  if (orderTimeoutActor === undefined) throw new Error('the route of an action needs a role');
  const traceparent = activeTraceparent() ?? traceparentOf(headers['traceparent']);
  return { cause: 'operator', actor: orderTimeoutActor, traceparent };
});
