/**
 * The path by which Express and Fastify route a request: without scheme and host (which proxies send), query, and
 * trailing slash, in lower case, because Express ignores case.
 */
export function pathOf(url: string | undefined): string {
  const path = (url ?? '').replace(/^https?:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
  return path.replace(/(?<=.)\/$/, '').toLowerCase();
}
