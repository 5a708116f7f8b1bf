/**
 * The path that Express and Fastify route a request by: without scheme and host (a proxy's form), query and trailing
 * slash, in lower case, as Express tells no case apart.
 */
export function pathOf(url: string | undefined): string {
  const path = (url ?? '').replace(/^https?:\/\/[^/?]*/i, '').replace(/[?#].*$/s, '');
  return path.replace(/(?<=.)\/$/, '').toLowerCase();
}
