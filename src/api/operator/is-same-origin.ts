import { type ApiRequest, headerOf } from '../http';

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
