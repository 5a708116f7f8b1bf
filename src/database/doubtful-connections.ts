import { SystemClock } from '../clock';
import { type PooledClient } from './hang-up';

const clock = new SystemClock();

/** When a connection has last answered, and when a statement was sent to its server that was never answered; monotonic ms. */
const answeredAt = new WeakMap<PooledClient, number>();
const silentSince = new Map<string, number>();

/** The connection works. */
export function hasAnswered(client: PooledClient | undefined): void {
  if (client) answeredAt.set(client, clock.monotonic());
}

/** A statement that was sent at this time on the monotonic clock has had no answer. */
export function wasSilent(client: PooledClient, sentAtMs: number): void {
  const server = serverOf(client);
  silentSince.set(server, Math.max(silentSince.get(server) ?? -Infinity, sentAtMs));
}

/**
 * Whether the connection may be dead: another one to its server has fallen silent, and this one has not answered since. A
 * network that drops one connection without a word mostly drops all of them. Twenty that are found out one after the
 * other, each by a statement that gets no answer, cost 20 s.
 */
export function isDoubtful(client: PooledClient | undefined): boolean {
  if (!client) return false;
  const lastMs = answeredAt.get(client) ?? Infinity;
  return lastMs < (silentSince.get(serverOf(client)) ?? -Infinity);
}

function serverOf({ host, port }: PooledClient): string {
  return `${host ?? ''}:${port ?? ''}`;
}
