import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type ApiRequest } from './api-request';
import { MerchantScope } from './merchant-scope';

/** Parameter: whose orders and stock the caller may see and touch, a MerchantScope. */
export const CallerScope = createParamDecorator((_: unknown, context: ExecutionContext): MerchantScope => {
  return context.switchToHttp().getRequest<ApiRequest>().orderTimeoutScope ?? MerchantScope.EVERYBODY;
});
