import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';

/** A provider that is away for payments with `away` in their reference, and signs no answer about others. */
export class BrokenBank {
  static readonly provider = 'bank';

  private constructor(private readonly server: Server) {}

  static async open(): Promise<BrokenBank> {
    const server = createServer(({ url }, response) => {
      const status = url?.includes('away') ? 503 : 200;
      response.writeHead(status, { 'content-type': 'application/json' }).end('{"status":"OPEN"}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new BrokenBank(server);
  }

  /** What tells the service where it is. */
  get environment(): Record<string, string> {
    const { port } = this.server.address() as AddressInfo;
    return {
      HTTP_PAYMENT_PROVIDER_NAME: BrokenBank.provider,
      HTTP_PAYMENT_PROVIDER_URL: `http://127.0.0.1:${port}`,
      HTTP_PAYMENT_PROVIDER_SECRET: 'a secret of 16 characters',
    };
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}
