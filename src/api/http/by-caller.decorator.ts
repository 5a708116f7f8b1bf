import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type ActionContext } from '../../orders';
import { activeTraceparent, traceparentOf } from '../../tracing';
import { type ApiRequest } from './api-request';

/** Parameter: who makes the request, for the history. */
export const ByCaller = createParamDecorator((_: unknown, context: ExecutionContext): ActionContext => {
  const { orderTimeoutActor, headers } = context.switchToHttp().getRequest<ApiRequest>();
  const traceparent = activeTraceparent() ?? traceparentOf(headers['traceparent']);
  return { cause: 'api', actor: orderTimeoutActor, traceparent };
});
