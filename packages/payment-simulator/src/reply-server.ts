import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { jsonReply, type Reply, type SimulatorRequest } from './reply';

/** Longer request bodies are cut off. */
const MAX_BODY_BYTES = 1_048_576;

/** Serves over HTTP what `answer` replies, silence and cut connections too. An error in it becomes a 500. */
export class ReplyServer {
  private readonly server: Server;

  constructor(private readonly answer: (request: SimulatorRequest) => Promise<Reply>) {
    this.server = createServer((request, response) => void this.serve(request, response));
  }

  /** @param port 0: any free one. @returns the base URL. @throws what node says, e.g. EADDRINUSE. */
  listen(port = 0, host = '127.0.0.1'): Promise<string> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, host, () => {
        this.server.off('error', reject);
        const address = this.server.address() as AddressInfo;
        resolve(`http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`);
      });
    });
  }

  /** Cuts every connection, hanging ones too. A second call does nothing. */
  async close(): Promise<void> {
    if (!this.server.listening) return;
    await new Promise((resolve) => {
      this.server.close(resolve);
      this.server.closeAllConnections();
    });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      send(response, await this.answer(await receive(request)));
    } catch (error) {
      // The peer went away or its body was too long; or a bug, which a 500 shows best.
      send(response, jsonReply(500, { error: String(error) }));
    }
  }
}

async function receive(request: IncomingMessage): Promise<SimulatorRequest> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > MAX_BODY_BYTES) throw new RangeError(`body is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  const { method = 'GET', url: path = '/', headers } = request;
  return { method, path, headers, query: new URL(path, 'http://localhost').searchParams, body: Buffer.concat(chunks) };
}

function send(response: ServerResponse, reply: Reply): void {
  if (response.destroyed || response.headersSent || reply.type === 'silence') return;
  if (reply.type === 'cut') {
    response.destroy();
    return;
  }
  response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(reply.body);
}
