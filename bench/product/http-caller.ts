import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';

/** JSON over kept connections, by the plainest client that Node has. */
export class HttpCaller {
  private readonly agent: Agent;

  constructor(
    private readonly base: string,
    private readonly headers: Readonly<Record<string, string>>,
    connections: number,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** @throws Error when the answer is not 2xx. */
  call(method: string, path: string, body?: unknown, further: Readonly<Record<string, string>> = {}): Promise<string> {
    const { agent, headers } = this;
    const payload = body === undefined ? '' : JSON.stringify(body);
    const about =
      payload === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(payload) };
    return new Promise((resolve, reject) => {
      const sent = request(
        this.base + path,
        { method, agent, headers: { ...headers, ...further, ...about } },
        (response) => {
          const status = response.statusCode ?? 0;
          text(response).then((answer) => {
            if (status >= 200 && status < 300) resolve(answer);
            else reject(new Error(`${method} ${path}: ${status} ${answer}`));
          }, reject);
        },
      );
      sent.on('error', reject);
      sent.end(payload);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}
