import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { SystemClock } from '../../../src/clock';
import { WebhookClient } from '../../../src/webhooks/webhook-client';

describe('a webhook whose receiver answers 200', () => {
  let server: Server;
  let client: WebhookClient;
  let answer: (response: ServerResponse) => void;

  beforeAll(async () => {
    server = createServer((_, response) => answer(response.writeHead(200)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
    client = new WebhookClient({ url, allowPrivateNetwork: true }, 2_000, new SystemClock());
  });
  afterAll(async () => {
    client.close();
    server.closeAllConnections();
    await once(server.close(), 'close');
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['never ends its answer', (response) => response.write('{')],
    ['sends byte after byte', drip],
    ['sends an endless flood', flood],
  ])('is delivered, and the connection is ended, if it %s', async (_, begin) => {
    const ended = new Promise((resolve) => {
      answer = (response) => {
        response.on('close', resolve);
        begin(response);
      };
    });
    await expect(client.post('{}', {}, AbortSignal.timeout(2_000))).resolves.toMatchObject({ status: 200 });
    await ended;
  });

  it('keeps its connection if the answer ends', async () => {
    const ports: (number | undefined)[] = [];
    answer = (response) => {
      ports.push(response.socket?.remotePort);
      response.end('{"ok":true}');
    };
    await client.post('{}', {}, AbortSignal.timeout(2_000));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await client.post('{}', {}, AbortSignal.timeout(2_000));
    expect(new Set(ports).size).toBe(1);
  });
});

function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
}

function flood(response: ServerResponse): void {
  const more = (): void => {
    while (!response.destroyed && response.write(' '.repeat(16_384)));
  };
  response.on('drain', more);
  more();
}
