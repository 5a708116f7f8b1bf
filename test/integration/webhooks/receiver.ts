import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

/** A request as it came. */
export interface Received {
  readonly id: string;
  readonly atMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The event, if the signature was right. */
  readonly event?: { readonly id: string; readonly type: string; readonly orderId: string };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** A receiver of webhooks that verifies with the library. @param answer says what to answer; default 204 */
export async function startReceiver(secret: string) {
  const received: Received[] = [];
  const receiver = {
    url: '',
    received,
    answer: (response: ServerResponse): void => void response.writeHead(204).end(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const headers = request.headers as Record<string, string>;
    const one = { id: headers['webhook-id'] ?? '', atMs: performance.now(), headers, body, ...verified(body, headers) };
    received.push(one);
    receiver.answer(response);
  };
  const verified = (body: string, headers: Record<string, string>): Pick<Received, 'event'> => {
    try {
      return { event: new Webhook(secret).verify(body, headers) as NonNullable<Received['event']> };
    } catch {
      return {};
    }
  };
  const server = createServer((request, response) => void take(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return receiver;
}
