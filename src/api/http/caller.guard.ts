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
import { present } from '../../errors';
import { type ActionContext } from '../../orders';
import { activeTraceparent, traceparentOf } from '../../tracing';
import { HttpProblem } from '../input';
import { type ApiRequest, headerOf } from './api-request';
import { type ApiKeys, type ApiScope, type KeyHolder, OperatorKeys, type OperatorRole } from './keys';
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
import { RateLimits } from './rate-limits';

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
