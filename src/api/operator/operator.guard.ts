import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  SetMetadata,
  applyDecorators,
  Controller,
  UseFilters,
  UseGuards,
  VERSION_NEUTRAL,
  createParamDecorator,
} from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type ActionContext } from '../../orders';
import { activeTraceparent, traceparentOf } from '../../tracing';
import { type Clock } from '../../clock';
import {
  RateLimits,
  OrderScopeGuard,
  ProblemFilter,
  type ApiRequest,
  findKey,
  findKeyProblems,
  type KeyEntry,
  type KeyFormat,
  type MerchantScope,
  readKeyEntries,
  headerOf,
} from '../http';
import { HttpProblem } from '../input';

const ROLE = 'order-timeout:operator-role';

/** Who may call the route: an operator with the role, or anybody. */
export const RequireRole = (role: OperatorRole | 'nobody'): MethodDecorator => SetMetadata(ROLE, role);

const SAFE = ['GET', 'HEAD'];

/**
 * Sessions without a table: the token carries its content, signed with a secret of the operator's key. So every instance
 * verifies it, and removing or changing the key ends its sessions.
 */
export class OperatorSessions {
  constructor(
    private readonly keys: OperatorKeys,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Signs in with a key. Undefined: nobody has this key. */
  begin(key: string): { readonly token: string; readonly session: OperatorSession } | undefined {
    const operator = this.keys.find(key);
    if (!operator) return undefined;
    const now = this.clock.now();
    const payload: Payload = [operator.name, now, now + SESSION_MS, randomBytes(16).toString('base64url')];
    const text = Buffer.from(JSON.stringify(payload)).toString('base64url');
    return { token: `${text}.${sign(operator, 'token', text)}`, session: sessionOf(operator, payload) };
  }

  /** The session of a token. Undefined: it is forged, it has expired, or its key has been removed or changed. */
  find(token: string): OperatorSession | undefined {
    const [text = '', signature = '', ...rest] = token.split('.');
    const payload = readPayload(text);
    const operator = payload && this.keys.named(payload[0]);
    if (!operator || rest.length > 0 || !isSame(signature, sign(operator, 'token', text))) return undefined;
    return payload[2] > this.clock.now() ? sessionOf(operator, payload) : undefined;
  }
}

/** The keys of the operator page, as `name:sha256hex:roles` or `name:sha256hex:roles@merchants`. Only hashes are stored. */
export class OperatorKeys {
  private readonly keys: readonly KeyEntry[];

  /** @throws InvalidOptionsError with every invalid entry, by its number and without its content. */
  constructor(entries: readonly string[]) {
    this.keys = readKeyEntries(entries, FORMAT);
  }

  /** Without keys, the page is closed. */
  get isEmpty(): boolean {
    return this.keys.length === 0;
  }

  /** The owner of this key. Undefined: nobody. */
  find(presented: string): Operator | undefined {
    const found = findKey(this.keys, presented);
    return found && toOperator(found);
  }

  /** The owner with this name. Undefined: the key was removed. */
  named(name: string): Operator | undefined {
    const found = this.keys.find((key) => key.name === name);
    return found && toOperator(found);
  }
}

/**
 * Admits operators with a session and the role of the route, and stores who they are on the request. What changes something
 * must come from the page itself. Without configured keys, there is nothing at these paths.
 */
@Injectable()
class OperatorGuard implements CanActivate {
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

/** A controller under `operator`, or under `operator/path`. */
export function OperatorController(path = ''): ClassDecorator {
  return applyDecorators(
    Controller({ path: path === '' ? 'operator' : `operator/${path}`, version: VERSION_NEUTRAL }),
    UseGuards(OperatorGuard, OrderScopeGuard),
    UseFilters(ProblemFilter),
  );
}

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

/** A request of the operator page. */
export interface OperatorRequest extends ApiRequest {
  /** Set when the guard admits the request. Absent on routes that need no session. */
  operatorSession?: OperatorSession;
}

/** An operator who is signed in. */
export interface OperatorSession {
  readonly operator: Operator;
  /** Must come with every request that changes something. A page of another site cannot read it. */
  readonly csrf: string;
  readonly expiresAt: Date;
}

/** How long a session lasts, in milliseconds: a working day. */
export const SESSION_MS = 43_200_000;

const payloadSchema = z.tuple([z.string(), z.int(), z.int(), z.string()]);

/** Name of the key, when it was issued and when it expires (epoch milliseconds), and a random text. */
type Payload = z.infer<typeof payloadSchema>;

/** Whether two texts are equal, in constant time for texts of one length. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function sessionOf(operator: Operator, [, , expiresAt, nonce]: Payload): OperatorSession {
  return { operator, csrf: sign(operator, 'csrf', nonce), expiresAt: new Date(expiresAt) };
}

function sign({ secret }: Operator, purpose: 'token' | 'csrf', text: string): string {
  return createHmac('sha256', secret).update(`${purpose}:${text}`).digest('base64url');
}

function readPayload(text: string): Payload | undefined {
  try {
    return payloadSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).data;
  } catch {
    return undefined;
  }
}

/**
 * What an operator may do.
 * - `read`: see everything but personal data. Every other role includes it.
 * - `operate`: act on orders, timeouts, messages, kinds, and providers.
 * - `money`: refund, revive, settle, reopen, and assign.
 * - `reveal`: see metadata and evidence of orders, which is logged.
 */
const OPERATOR_ROLES = ['read', 'operate', 'money', 'reveal'] as const;

export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** The owner of an operator key. */
interface Operator {
  readonly name: string;
  readonly roles: readonly OperatorRole[];
  /** The merchants whose orders the operator may see and change. */
  readonly scope: MerchantScope;
  /** Signs the sessions of this key. It changes with the key. */
  readonly secret: Buffer;
}

const FORMAT: KeyFormat = { what: 'operator key', grantsAre: 'roles', grants: OPERATOR_ROLES };

/** Lists all problems of the entries. */
export function findOperatorKeyProblems(entries: readonly string[]): string[] {
  return findKeyProblems(entries, FORMAT);
}

function toOperator({ name, grants, scope, hash }: KeyEntry): Operator {
  const roles = OPERATOR_ROLES.filter((role) => role === 'read' || grants.has(role));
  return { name, roles, scope, secret: createHmac('sha256', hash).update('order-timeout operator session').digest() };
}

const NAME = 'order_timeout_operator';

/** The token that the request presents. Undefined: none, or several. */
function tokenOf(request: ApiRequest): string | undefined {
  const pairs = (headerOf(request, 'cookie') ?? '').split(';').map((pair) => pair.trim());
  const tokens = pairs.filter((pair) => pair.startsWith(`${NAME}=`)).map((pair) => pair.slice(NAME.length + 1));
  return tokens.length === 1 ? tokens[0] : undefined;
}

/**
 * The `Set-Cookie` header that stores a token, or forgets it (null). It has no `Path`: browsers then send the cookie to
 * `operator/api` alone, at whatever path a proxy serves the page.
 */
export function setCookie(request: ApiRequest, token: string | null): string {
  const life = token === null ? 0 : SESSION_MS / 1_000;
  const secure = isHttps(request) ? '; Secure' : '';
  return `${NAME}=${token ?? ''}; Max-Age=${life}; HttpOnly; SameSite=Strict${secure}`;
}

/** A browser's user cannot forge the header of the proxy for somebody else, so it needs no trust. */
function isHttps(request: ApiRequest): boolean {
  const forwarded = headerOf(request, 'x-forwarded-proto')?.split(',')[0]?.trim().toLowerCase();
  return request.protocol === 'https' || forwarded === 'https';
}

/**
 * Whether no page of another site sends this request. Programs send neither header. Browsers send `Sec-Fetch-Site`, except
 * over plain HTTP, where `Origin` must name the host.
 */
function isSameOrigin(request: ApiRequest): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined) return true;
  const hosts = [headerOf(request, 'host'), headerOf(request, 'x-forwarded-host')];
  return URL.canParse(origin) && hosts.includes(new URL(origin).host);
}

/** The page loads scripts and styles from its own files alone, and nobody may frame it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of every answer of a route under `operator`, refusals included. Elsewhere, the host answers, without data. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
