import {
  applyDecorators,
  type CanActivate,
  Controller,
  createParamDecorator,
  type ExecutionContext,
  HttpCode,
  Inject,
  Injectable,
  Post,
  SetMetadata,
  type Type,
  UseFilters,
  UseGuards,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { type z } from 'zod';
import { integer, optionsOf, parseOptions, present } from '../../errors';
import { type ActionContext, LIMITS, OrderMerchants, Orders, type NewOrder } from '../../orders';
import { activeTraceparent, traceparentOf } from '../../tracing';
import { HttpProblem, notFound, reject } from '../input';
import {
  type ApiKeys,
  type ApiRequest,
  type ApiScope,
  headerOf,
  type KeyHolder,
  MerchantScope,
  OperatorKeys,
  type OperatorRole,
  remoteNetworkOf,
} from './caller';
import {
  isSame,
  isSameOrigin,
  type OperatorRequest,
  type OperatorSession,
  OperatorSessions,
  SECURITY_HEADERS,
  tokenOf,
} from './operator-sessions';
import { ProblemFilter } from './problem.filter';

/** Injection token: the keys, or `open` if the host protects the routes itself. */
export const API_KEYS = Symbol('order-timeout:api-keys');

const SCOPES = 'order-timeout:scopes';

const ROLE = 'order-timeout:operator-role';

const PAGE = 'order-timeout:operator-page';

/** The route of an action, which answers 200. */
export const Action = (path: string): MethodDecorator => applyDecorators(Post(path), HttpCode(200));

/** A key with any one of these scopes may call the route. */
export const RequireScope = (...scopes: [ApiScope, ...ApiScope[]]): MethodDecorator => SetMetadata(SCOPES, scopes);

/** Who may call the route from the operator page: an operator with the role, or anybody. */
export const RequireRole = (role: OperatorRole | 'nobody'): MethodDecorator => SetMetadata(ROLE, role);

/** A controller of the HTTP API, whose callers have keys. */
export function ApiController(path: string, ...guards: Type<CanActivate>[]): ClassDecorator {
  return applyDecorators(
    Controller({ path, version: VERSION_NEUTRAL }),
    UseGuards(CallerGuard, ...guards),
    UseFilters(ProblemFilter),
  );
}

/** A controller of the operator page, at `operator` or below it. CallerGuard admits sessions to it, and to no other. */
export function PageController(path: string): ClassDecorator {
  return applyDecorators(
    Controller({ path: path === '' ? 'operator' : `operator/${path}`, version: VERSION_NEUTRAL }),
    SetMetadata(PAGE, true),
  );
}

/** Parameter: who makes the request, for the history. */
export const ByCaller = createParamDecorator((_: unknown, context: ExecutionContext): ActionContext => {
  const { orderTimeoutActor, operatorSession, headers } = context.switchToHttp().getRequest<OperatorRequest>();
  const traceparent = activeTraceparent() ?? traceparentOf(headers['traceparent']);
  return { cause: operatorSession ? 'operator' : 'api', actor: orderTimeoutActor, traceparent };
});

/** An operator who acts. */
export interface OperatorContext extends ActionContext {
  readonly cause: 'operator';
  readonly actor: string;
}

/** Parameter: the operator who makes the request, for the history. */
export const ByOperator = createParamDecorator((_: unknown, context: ExecutionContext): OperatorContext => {
  const { operatorSession, headers } = context.switchToHttp().getRequest<OperatorRequest>();
  const { operator } = present(operatorSession, 'the session of an action');
  const traceparent = activeTraceparent() ?? traceparentOf(headers['traceparent']);
  return { cause: 'operator', actor: operator.name, traceparent };
});

const UNAUTHENTICATED = { 'WWW-Authenticate': 'Bearer realm="order-timeout"' };

const SAFE = ['GET', 'HEAD'];

/**
 * Refuses requests above the limits. Except at signing in, only failures count against an address: behind a proxy, the shop and its payment
 * providers may share the address of an attacker, so a valid key or signature is never refused for others' failures.
 */
export class RateLimits {
  private readonly keys: RateLimiterMemory | undefined;
  private readonly failures: RateLimiterMemory | undefined;
  private readonly forgeries: RateLimiterMemory | undefined;

  /** @throws InvalidOptionsError with every invalid limit. */
  constructor(options: RateLimitOptions = {}) {
    const { perKey, failuresPerAddress, forgeriesPerAddress } = parseOptions('rateLimits', rateLimitOptions, options);
    this.keys = limiter(perKey);
    this.failures = limiter(failuresPerAddress);
    this.forgeries = limiter(forgeriesPerAddress);
  }

  /** Counts a request with a known key. @throws HttpProblem RATE_LIMITED */
  async useKey(name: string): Promise<void> {
    await take(this.keys, name, `more than ${this.keys?.points ?? 0} requests in a second with the key "${name}"`);
  }

  /** Counts a request without a known key. @throws HttpProblem RATE_LIMITED instead of an answer about the key. */
  async fail(request: ApiRequest): Promise<void> {
    await take(this.failures, remoteNetworkOf(request), 'too many requests without a valid key');
  }

  /**
   * Counts an attempt to sign in before its key is tried, so that guesses above the limit learn nothing. One that succeeds
   * does not count.
   *
   * @throws HttpProblem RATE_LIMITED, for the right key too.
   */
  async signIn<T>(request: ApiRequest, tryKey: () => T | undefined): Promise<T | undefined> {
    const key = `sign-in ${remoteNetworkOf(request)}`;
    await take(this.failures, key, 'too many attempts to sign in without a valid key');
    const found = tryKey();
    if (found !== undefined) await this.failures?.reward(key);
    return found;
  }

  /**
   * Counts a notification with a wrong signature.
   *
   * @throws HttpProblem RATE_LIMITED instead of the provider's answer.
   */
  async forge(request: ApiRequest): Promise<void> {
    await take(this.forgeries, remoteNetworkOf(request), 'too many notifications without a valid signature');
  }
}

/**
 * Admits a key with a scope of the route, and on the operator page, a session with the role of the route. It stores on the
 * request who calls, and for which merchants. A session is no key, and a key is no session.
 */
@Injectable()
export class CallerGuard implements CanActivate {
  constructor(
    @Inject(API_KEYS) private readonly keys: ApiKeys | 'open',
    private readonly operators: OperatorKeys,
    private readonly sessions: OperatorSessions,
    private readonly reflector: Reflector,
    private readonly limits: RateLimits,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const isPage = this.reflector.get<true | undefined>(PAGE, context.getClass());
    if (isPage) await this.admitToPage(context);
    else if (this.keys !== 'open') await this.admitKey(this.keys, context);
    return true;
  }

  private async admitKey(keys: ApiKeys, context: ExecutionContext): Promise<void> {
    const request = context.switchToHttp().getRequest<ApiRequest>();
    const holder = await this.holderOf(keys, request);
    await this.limits.useKey(holder.name);
    // A route without scopes is a mistake, so only `*` may call it.
    const scopes = this.reflector.get<readonly ApiScope[] | undefined>(SCOPES, context.getHandler()) ?? ['*'];
    if (!holder.may(scopes)) {
      throw new HttpProblem('FORBIDDEN', `key "${holder.name}" lacks the scope ${scopes.join(' or ')}`);
    }
    request.orderTimeoutActor = holder.name;
    request.orderTimeoutScope = holder.scope;
  }

  private async holderOf(keys: ApiKeys, request: ApiRequest): Promise<KeyHolder> {
    const presented = presentedKey(request);
    const holder = presented === undefined ? undefined : keys.find(presented);
    if (holder) return holder;
    await this.limits.fail(request);
    const how = 'send an API key as "x-api-key: KEY" or "Authorization: Bearer KEY"';
    throw new HttpProblem('UNAUTHORIZED', presented ? 'the API key is unknown' : how, UNAUTHENTICATED);
  }

  /** What changes something must come from the page itself. Without configured keys, there is nothing at these paths. */
  private async admitToPage(context: ExecutionContext): Promise<void> {
    const request = context.switchToHttp().getRequest<OperatorRequest>();
    const { httpAdapter } = this.adapterHost;
    const response = context.switchToHttp().getResponse<object>();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) httpAdapter.setHeader(response, name, value);
    if (this.operators.isEmpty)
      throw new HttpProblem('ROUTE_NOT_FOUND', `there is no route ${request.method} ${request.url}`);
    const isSafe = SAFE.includes(request.method);
    if (!isSafe && !isSameOrigin(request)) throw crossSite('the request comes from a page of another site');
    const role = this.reflector.get<OperatorRole | 'nobody' | undefined>(ROLE, context.getHandler());
    if (role === 'nobody') return;
    const session = this.sessionOf(request);
    await this.limits.useKey(`operator ${session.operator.name}`);
    if (!isSafe && !isSame(session.csrf, String(request.headers['x-csrf-token']))) {
      throw crossSite('the header x-csrf-token is missing or wrong; read it with GET session');
    }
    admitOperator(request, session, role);
  }

  private sessionOf(request: OperatorRequest): OperatorSession {
    const token = tokenOf(request);
    const session = token === undefined ? undefined : this.sessions.find(token);
    if (session) return session;
    throw new HttpProblem('UNAUTHORIZED', token ? 'the session has ended; sign in again' : 'sign in with POST session');
  }
}

function presentedKey(request: ApiRequest): string | undefined {
  const own = headerOf(request, 'x-api-key');
  if (own) return own;
  return /^Bearer +(\S+)$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
}

/** A route without a role is a mistake, so nobody may call it. */
function admitOperator(request: OperatorRequest, session: OperatorSession, role: OperatorRole | undefined): void {
  const { name, roles, scope } = session.operator;
  if (role === undefined || !roles.includes(role)) {
    throw new HttpProblem('FORBIDDEN', `operator key "${name}" lacks the role ${role ?? 'of this route'}`);
  }
  request.operatorSession = session;
  request.orderTimeoutActor = name;
  request.orderTimeoutScope = scope;
}

function crossSite(detail: string): HttpProblem {
  return new HttpProblem('CROSS_SITE_REQUEST', detail);
}

/**
 * Runs after CallerGuard, on routes with an order's `:id`. For a key that is limited to merchants, orders of other
 * merchants do not exist. Other keys cost no query.
 */
@Injectable()
export class OrderScopeGuard implements CanActivate {
  constructor(private readonly orders: OrderMerchants) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { params, orderTimeoutScope: scope = MerchantScope.EVERYBODY } = context
      .switchToHttp()
      .getRequest<ApiRequest>();
    const id = params?.['id'];
    // The pipe of the parameter rejects an invalid id.
    if (!scope.isRestricted || typeof id !== 'string' || !LIMITS.id.test(id)) return true;
    const merchantId = await this.orders.of(id);
    if (merchantId !== undefined && scope.allows(merchantId)) return true;
    throw notFound(id);
  }
}

/**
 * Hides unmatched payments and orders of other merchants. Checked outside the action's transaction, because the order that a
 * payment names and its merchant never change. Callers of all merchants cost no query.
 */
@Injectable()
export class UnmatchedScope {
  constructor(
    private readonly orders: Orders,
    private readonly merchants: OrderMerchants,
  ) {}

  /** @throws RequestRejectedError UNMATCHED_PAYMENT_NOT_FOUND */
  async assertVisible(id: string, { isRestricted, merchants }: MerchantScope): Promise<void> {
    if (!isRestricted || (await this.orders.unmatched.get(id, { merchants }))) return;
    throw reject(id, { code: 'UNMATCHED_PAYMENT_NOT_FOUND' });
  }

  /** @throws RequestRejectedError ORDER_NOT_FOUND */
  async assertTheirs(orderId: string, scope: MerchantScope): Promise<void> {
    if (!scope.isRestricted) return;
    const merchantId = await this.merchants.of(orderId);
    if (merchantId === undefined || !scope.allows(merchantId)) throw notFound(orderId);
  }
}

/** Maximum number of orders in the message. */
const MAX_NAMED = 20;

/**
 * Fills in the merchants of new orders by the caller's key.
 *
 * @throws HttpProblem FORBIDDEN with the orders of other merchants.
 * @throws RequestRejectedError VALIDATION_FAILED if an order must name its merchant and does not.
 */
export function scopedOrders<T extends NewOrder>(orders: readonly T[], scope: MerchantScope): readonly T[] {
  if (!scope.isRestricted) return orders;
  const foreign = orders.filter(({ merchantId }) => merchantId !== undefined && !scope.allows(merchantId));
  if (foreign.length > 0) {
    const ids = foreign.slice(0, MAX_NAMED).map(({ id }) => id);
    const more = foreign.length > MAX_NAMED ? ` and ${foreign.length - MAX_NAMED} more` : '';
    throw scope.forbidden(
      `nothing was placed, because these orders belong to other merchants: ${ids.join(', ')}${more}`,
    );
  }
  return orders.map((order, index) => ({
    ...order,
    merchantId: scope.merchantFor(order.merchantId, `orders.${index}.merchantId`),
  }));
}

/** Rate limits of the HTTP API. Each process counts separately. */
export interface RateLimitOptions {
  /** Requests per second with one API key; 0 for no limit. @default 1000 */
  readonly perKey?: number;
  /** Requests, and attempts to sign in, per second from one address without a valid key; 0 for no limit. @default 20 */
  readonly failuresPerAddress?: number;
  /** Notifications per second from one address without a valid signature; 0 for no limit. @default 20 */
  readonly forgeriesPerAddress?: number;
}

const limit = integer(0, 1_000_000, ' a second, 0 for no limit');

export const rateLimitOptions = optionsOf({
  // Above ten times the load that one process carries, so it stops only runaway loops.
  perKey: limit.default(1_000),
  // High enough for a person who mistypes a key.
  failuresPerAddress: limit.default(20),
  // High enough for a provider whose key was changed.
  forgeriesPerAddress: limit.default(20),
} satisfies Record<keyof RateLimitOptions, z.ZodType>);

function limiter(points: number): RateLimiterMemory | undefined {
  return points === 0 ? undefined : new RateLimiterMemory({ points, duration: 1 });
}

async function take(limiter: RateLimiterMemory | undefined, key: string, detail: string): Promise<void> {
  try {
    await limiter?.consume(key);
  } catch (error) {
    throw error instanceof RateLimiterRes ? tooMany(detail, error) : error;
  }
}

function tooMany(detail: string, { msBeforeNext }: RateLimiterRes): HttpProblem {
  return new HttpProblem('RATE_LIMITED', detail, {
    'Retry-After': String(Math.max(1, Math.ceil(msBeforeNext / 1_000))),
  });
}
