import { connect } from 'node:net';
import { type Client } from 'pg';

/** What we use of a connection of the pool; pg's native client has no stream. */
export type PooledClient = Partial<Pick<Client, 'connection' | 'end' | 'host' | 'port'>> & {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
};

const CANCEL_CODE = 80_877_102;
const CANCEL_LIMIT_MS = 2_000;

/** Closes a connection that owes an answer, at once. What waits for it fails with `why`, and the pool opens another one. */
export function hangUp(client: PooledClient | undefined, why: Error): void {
  if (client?.connection) client.connection.stream.destroy(why);
  else discard(client);
}

/** Ends a connection that owes nothing, so that its pool throws it away when it is released. */
export function discard(client: PooledClient | undefined): void {
  void client?.end?.().catch(() => undefined);
}

/**
 * Asks the server to stop what a session is doing, as psql does at Ctrl-C. Without it a statement that waits for a lock
 * would wait on after we have gone, and each that we send in its place as well, until the server has no session left.
 */
export function cancel({ host, port, processID, secretKey }: PooledClient): void {
  if (typeof processID !== 'number' || typeof secretKey !== 'number' || !host || host.startsWith('/')) return;
  const request = Buffer.alloc(16);
  [request.length, CANCEL_CODE, processID, secretKey].forEach((word, index) => request.writeInt32BE(word, index * 4));
  const socket = connect({ host, port: port ?? 5_432 });
  socket.on('error', () => undefined);
  socket.setTimeout(CANCEL_LIMIT_MS, () => socket.destroy()).unref();
  socket.end(request);
}
