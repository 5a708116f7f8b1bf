import { connect } from 'node:net';
import { type Client } from 'pg';

/** The parts of a pooled connection that we use; pg's native client has no stream. */
export type PooledClient = Partial<Pick<Client, 'connection' | 'end' | 'host' | 'port'>> & {
  readonly processID?: number | null;
  readonly secretKey?: number | null;
};

const CANCEL_CODE = 80_877_102;
const CANCEL_LIMIT_MS = 2_000;

/** Closes a connection that has not answered, at once. Its callers fail with `why`, and the pool opens another one. */
export function hangUp(client: PooledClient | undefined, why: Error): void {
  if (client?.connection) client.connection.stream.destroy(why);
  else discard(client);
}

/** Ends an idle connection, so that its pool drops it when it is released. */
export function discard(client: PooledClient | undefined): void {
  void client?.end?.().catch(() => undefined);
}

/** Closes an idle connection that may be dead, and does not wait for the server. */
export function drop(client: PooledClient | undefined): void {
  discard(client);
  client?.connection?.stream.destroy();
}

/**
 * Asks the server to cancel a session's statement, as psql does at Ctrl-C. Otherwise a statement that waits for a lock would
 * go on after we have left, and so would each retry, until the server has no session left.
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
