import { type ApiRequest, headerOf } from '../http';
import { SESSION_MS } from './operator-sessions';

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
