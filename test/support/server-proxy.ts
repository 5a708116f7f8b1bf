import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A connection to the broker or the database that can be cut, closed, or made one-way at any moment. */
export interface ServerProxy {
  /** The URL of this proxy. */
  readonly url: string;
  /** Closes every connection; accepts new ones. */
  cut(): void;
  /** The broker receives nothing more on open connections, as if it had blocked them. */
  mute(): void;
  /** Closes every connection and accepts none, as if the server were unavailable. */
  refuse(): void;
  /** Accepts connections again. */
  accept(): void;
  close(): Promise<void>;
}

export async function startServerProxy(serverUrl: string): Promise<ServerProxy> {
  const target = new URL(serverUrl);
  let isRefusing = false;
  const sockets = new Set<Socket>();
  const pairs: [Socket, Socket][] = [];
  const server = createServer((client) => {
    if (isRefusing) return void client.destroy();
    const broker = connect(Number(target.port), target.hostname);
    pairs.push([client, broker]);
    client.pipe(broker);
    broker.pipe(client);
    for (const socket of [client, broker]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        client.destroy();
        broker.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(serverUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: url.href,
    cut,
    mute: () => {
      for (const [client, broker] of pairs) client.unpipe(broker).resume();
    },
    refuse: () => {
      isRefusing = true;
      cut();
    },
    accept: () => void (isRefusing = false),
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
