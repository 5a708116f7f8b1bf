import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

interface Pair {
  readonly client: Socket;
  readonly peer: Socket;
  isDead: boolean;
}

/** A way to a server that can be cut, shut, made one-way, or become a black hole, at any moment. */
export class TcpProxy {
  private readonly pairs = new Set<Pair>();
  private isHole = false;
  private isRefusing = false;
  private delayMs = 0;

  private constructor(
    private readonly server: Server,
    private readonly port: number,
    private readonly target: string,
  ) {
    server.on('connection', (client) => this.take(client));
  }

  /** @param target URL of the server */
  static async open(target: string): Promise<TcpProxy> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpProxy(server, (server.address() as AddressInfo).port, target);
  }

  /** The URL of the server by this way. */
  get url(): string {
    return this.through(this.target);
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

  /** Closes every connection; new ones are let through. */
  hangUp(): void {
    for (const { client, peer } of this.pairs) {
      client.destroy();
      peer.destroy();
    }
  }

  /** The server receives nothing more on open connections, as if it had blocked them. */
  mute(): void {
    for (const { client, peer } of this.pairs) client.unpipe(peer).resume();
  }

  /** Closes every connection, and each new one as soon as it is there. */
  refuse(): void {
    this.isRefusing = true;
    this.hangUp();
  }

  accept(): void {
    this.isRefusing = false;
  }

  /** The server hears the first word of each new connection so much later, as if the machine had no time to start a session. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  /** Closes every connection, and the port. */
  async shut(): Promise<void> {
    this.hangUp();
    if (!this.server.listening) return;
    this.server.close();
    await once(this.server, 'close');
  }

  /** Listens again on the same port. */
  async reopen(): Promise<void> {
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
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

  private take(client: Socket): void {
    if (this.isRefusing) return void client.destroy();
    const { hostname, port } = new URL(this.target);
    const peer = connect(Number(port), hostname);
    const pair: Pair = { client, peer, isDead: false };
    this.pairs.add(pair);
    client.setNoDelay(true);
    peer.setNoDelay(true);
    for (const socket of [client, peer]) {
      socket.on('error', () => undefined);
      socket.on('close', () => this.closed(pair, socket));
    }
    if (this.delayMs === 0) client.pipe(peer);
    else setTimeout(() => !pair.isDead && client.pipe(peer), this.delayMs);
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
