import { type CanActivate, type ExecutionContext, Inject, Injectable, SetMetadata } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiKeys, type ApiScope, type KeyHolder } from './api-keys';
import { HttpProblem } from './http-problem';
import { type ApiRequest, headerOf } from './api-request';
import { RateLimits } from './rate-limits';

/** Injection token: the keys, or `open` if the host protects the routes itself. */
export const API_KEYS = Symbol('order-timeout:api-keys');

const SCOPES = 'order-timeout:scopes';

/** A key with any one of these scopes may call the route. */
export const RequireScope = (...scopes: [ApiScope, ...ApiScope[]]): MethodDecorator => SetMetadata(SCOPES, scopes);

const UNAUTHENTICATED = { 'WWW-Authenticate': 'Bearer realm="order-timeout"' };

/** Admits requests with a known key and a required scope, and stores the key's name and merchants on the request. */
@Injectable()
export class ApiKeyGuard implements CanActivate {
  constructor(
    @Inject(API_KEYS) private readonly keys: ApiKeys | 'open',
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (this.keys === 'open') return true;
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const holder = await this.holderOf(this.keys, request);
    await this.limits.useKey(holder.name);
    // A route without scopes is a mistake, so only `*` may call it.
    const scopes = this.reflector.get<readonly ApiScope[] | undefined>(SCOPES, context.getHandler()) ?? ['*'];
    if (!holder.may(scopes)) {
      throw new HttpProblem('FORBIDDEN', `key "${holder.name}" lacks the scope ${scopes.join(' or ')}`);
    }
    request.orderTimeoutActor = holder.name;
    request.orderTimeoutScope = holder.scope;
    return true;
  }

  private async holderOf(keys: ApiKeys, request: ApiRequest): Promise<KeyHolder> {
    const presented = presentedKey(request);
    const holder = presented === undefined ? undefined : keys.find(presented);
    if (holder) return holder;
    await this.limits.fail(request);
    const how = 'send an API key as "x-api-key: KEY" or "Authorization: Bearer KEY"';
    throw new HttpProblem('UNAUTHORIZED', presented ? 'the API key is unknown' : how, UNAUTHENTICATED);
  }
}

function presentedKey(request: ApiRequest): string | undefined {
  const own = headerOf(request, 'x-api-key');
  if (own) return own;
  return /^Bearer +(\S+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
}
