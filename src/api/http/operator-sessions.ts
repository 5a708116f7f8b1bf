import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '../../clock';
import { type ApiRequest, headerOf, type Operator, OperatorKeys } from './caller';

/**
 * Sessions without a table: the token carries its content, signed with a secret of the operator's key. So every instance
 * verifies it, and removing or changing the key ends its sessions.
 */
@Injectable()
export class OperatorSessions {
  constructor(
    private readonly keys: OperatorKeys,
    @Inject(CLOCK) private readonly clock: Pick<Clock, 'now'>,
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
export function isSame(one: string, other: string): boolean {
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

const NAME = 'order_timeout_operator';

/** The token that the request presents. Undefined: none, or several. */
export function tokenOf(request: ApiRequest): string | undefined {
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
export function isSameOrigin(request: ApiRequest): boolean {
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
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
