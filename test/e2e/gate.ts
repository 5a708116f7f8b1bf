import { connect, createServer, type Server, type Socket } from 'node:net';

/** A port that leads to another server while it is open. */
export class Gate {
  private readonly sockets = new Set<Socket>();

  private constructor(
    readonly url: string,
    private readonly port: number,
    private readonly target: URL,
    private readonly server: Server,
  ) {
    server.on('connection', (client) => {
      const behind = connect(Number(target.port), target.hostname);
      for (const socket of [client, behind]) {
        this.sockets.add(socket);
        socket.on('error', () => undefined);
        socket.on('close', () => this.sockets.delete(socket));
      }
      client.pipe(behind).pipe(client);
    });
  }

  static async to(serverUrl: string): Promise<Gate> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const target = new URL(serverUrl);
    const url = new URL(serverUrl);
    url.port = String(port);
    return new Gate(url.href, port, target, server);
  }

  open(): Promise<void> {
    return new Promise((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
  }

  /** Cuts every connection and takes no new one. */
  async shut(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
