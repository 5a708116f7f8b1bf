import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly peer: Socket;
  isDead: boolean;
}

/** A way to one of the service's peers that can be cut, or become a black hole, at any moment. */
export class TcpProxy {
  private readonly pairs = new Set<Pair>();
  private isHole = false;

  private constructor(
    private readonly server: Server,
    private readonly target: { readonly host: string; readonly port: number },
  ) {}

  static async open(target: { readonly host: string; readonly port: number }): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, target);
    server.on('connection', (client) => proxy.take(client));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The same URL by this way. */
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = '127.0.0.1';
    changed.port = String(this.port);
    return changed.href;
  }

  /** Resets every connection; new ones are let through. */
  cut(): void {
    for (const { client, peer } of this.pairs) {
      client.resetAndDestroy();
      peer.resetAndDestroy();
    }
  }

  /** Nothing goes through any more, and nobody is told; new connections are taken and not answered either. */
  swallow(): void {
    this.isHole = true;
    for (const pair of this.pairs) this.deafen(pair);
  }

  /** New connections go through again. The old ones stay dead, as behind a firewall that has forgotten them. */
  restore(): void {
    this.isHole = false;
  }

  /** What silences each connection that is open now, by itself. */
  silencers(): (() => void)[] {
    const alive = [...this.pairs].filter(({ isDead, client }) => !isDead && !client.destroyed);
    return alive.map((pair) => () => this.deafen(pair));
  }

  async close(): Promise<void> {
    for (const { client, peer } of this.pairs) {
      client.destroy();
      peer.destroy();
    }
    this.server.close();
    await once(this.server, 'close');
  }

  private take(client: Socket): void {
    const peer = connect(this.target.port, this.target.host);
    const pair: Pair = { client, peer, isDead: false };
    this.pairs.add(pair);
    client.setNoDelay(true);
    peer.setNoDelay(true);
    for (const socket of [client, peer]) {
      socket.on('error', () => undefined);
      socket.on('close', () => this.closed(pair, socket));
    }
    client.pipe(peer);
    peer.pipe(client);
    if (this.isHole) this.deafen(pair);
  }

  private deafen(pair: Pair): void {
    pair.isDead = true;
    pair.client.unpipe(pair.peer).resume();
    pair.peer.unpipe(pair.client).resume();
  }

  /** The end of one side reaches the other only while the way is there. */
  private closed(pair: Pair, socket: Socket): void {
    if (pair.isDead && (!pair.client.destroyed || !pair.peer.destroyed)) {
      // The peer of a service that gave up hears nothing of it; it would keep locks forever, so TCP's own limit.
      const other = socket === pair.client ? pair.peer : pair.client;
      setTimeout(() => other.destroy(), DEAD_PEER_MS).unref();
      return;
    }
    this.pairs.delete(pair);
    pair.client.destroy();
    pair.peer.destroy();
  }
}

/** How long the other side keeps a connection whose end it cannot hear of: keepalive of a careful server. */
const DEAD_PEER_MS = 5_000;
