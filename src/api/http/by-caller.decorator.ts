import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { traceparentOf } from '../../outbox';
import { type ActionContext } from '../../orders';
import { type ApiRequest } from './api-request';

/** Parameter: who makes the request, for the history. */
export const ByCaller = createParamDecorator((_: unknown, context: ExecutionContext): ActionContext => {
  const { orderTimeoutActor, headers } = context.switchToHttp().getRequest<ApiRequest>();
  return { cause: 'api', actor: orderTimeoutActor, traceparent: traceparentOf(headers['traceparent']) };
});
