import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { type ApiRequest } from './api-request';
import { MerchantScope } from './merchant-scope';

/** Parameter: the MerchantScope of the caller. */
export const CallerScope = createParamDecorator((_: unknown, context: ExecutionContext): MerchantScope => {
  return context.switchToHttp().getRequest<ApiRequest>().orderTimeoutScope ?? MerchantScope.EVERYBODY;
});
