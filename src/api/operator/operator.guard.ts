import { type CanActivate, type ExecutionContext, Injectable, SetMetadata } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { HttpProblem, RateLimits } from '../http';
import { isSameOrigin } from './is-same-origin';
import { OperatorKeys, type OperatorRole } from './operator-keys';
import { type OperatorRequest } from './operator-request';
import { isSame, type OperatorSession, OperatorSessions } from './operator-sessions';
import { SECURITY_HEADERS } from './security-headers';
import { tokenOf } from './session-cookie';

const ROLE = 'order-timeout:operator-role';

/** Who may call the route: an operator with the role, or anybody. */
export const RequireRole = (role: OperatorRole | 'nobody'): MethodDecorator => SetMetadata(ROLE, role);

const SAFE = ['GET', 'HEAD'];

/**
 * Admits operators with a session and the role of the route, and stores who they are on the request. What changes something
 * must come from the page itself. Without configured keys, there is nothing at these paths.
 */
@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(
    private readonly keys: OperatorKeys,
    private readonly sessions: OperatorSessions,
    private readonly limits: RateLimits,
    private readonly reflector: Reflector,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<OperatorRequest>();
    this.protect(context.switchToHttp().getResponse<object>());
    if (this.keys.isEmpty)
      throw new HttpProblem('ROUTE_NOT_FOUND', `there is no route ${request.method} ${request.url}`);
    const isSafe = SAFE.includes(request.method);
    if (!isSafe && !isSameOrigin(request)) throw crossSite('the request comes from a page of another site');
    const role = this.reflector.get<OperatorRole | 'nobody' | undefined>(ROLE, context.getHandler());
    if (role === 'nobody') return true;
    const session = this.sessionOf(request);
    await this.limits.useKey(`operator ${session.operator.name}`);
    if (!isSafe && !isSame(session.csrf, String(request.headers['x-csrf-token']))) {
      throw crossSite('the header x-csrf-token is missing or wrong; read it with GET session');
    }
    this.admit(request, session, role);
    return true;
  }

  private protect(response: object): void {
    const { httpAdapter } = this.adapterHost;
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) httpAdapter.setHeader(response, name, value);
  }

  private sessionOf(request: OperatorRequest): OperatorSession {
    const token = tokenOf(request);
    const session = token === undefined ? undefined : this.sessions.find(token);
    if (session) return session;
    throw new HttpProblem('UNAUTHORIZED', token ? 'the session has ended; sign in again' : 'sign in with POST session');
  }

  /** A route without a role is a mistake, so nobody may call it. */
  private admit(request: OperatorRequest, session: OperatorSession, role: OperatorRole | undefined): void {
    const { name, roles, scope } = session.operator;
    if (role === undefined || !roles.includes(role)) {
      throw new HttpProblem('FORBIDDEN', `operator key "${name}" lacks the role ${role ?? 'of this route'}`);
    }
    request.operatorSession = session;
    request.orderTimeoutActor = name;
    request.orderTimeoutScope = scope;
  }
}

function crossSite(detail: string): HttpProblem {
  return new HttpProblem('CROSS_SITE_REQUEST', detail);
}
