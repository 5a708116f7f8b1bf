import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to the broker that can be cut, or made one-way, at any moment; the management API takes seconds to do so. */
export interface BrokerProxy {
  /** The AMQP URL through this proxy. */
  readonly url: string;
  /** Ends every connection; new ones are let through. */
  cut(): void;
  /** From now on the broker hears nothing more of open connections, as when it has blocked them. */
  mute(): void;
  close(): Promise<void>;
}

export async function startBrokerProxy(amqpUrl: string): Promise<BrokerProxy> {
  const target = new URL(amqpUrl);
  const sockets = new Set<Socket>();
  const pairs: [Socket, Socket][] = [];
  const server = createServer((client) => {
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
  const url = new URL(amqpUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: url.href,
    cut,
    mute: () => {
      for (const [client, broker] of pairs) client.unpipe(broker).resume();
    },
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}
