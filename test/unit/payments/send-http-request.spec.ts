import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type HttpExchange, sendHttpRequest, StaleConnectionError } from '../../../src/payments/http/http-exchange';
import { anAttempt } from './an-attempt';

const never = new AbortController().signal;

describe('sendHttpRequest', () => {
  let server: Server | undefined;
  afterEach(() => server?.closeAllConnections());
  afterEach(() => new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined))));

  async function peer(listener: RequestListener): Promise<HttpExchange> {
    server = createServer(listener);
    await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/payments/ord-1`);
    const secret = 'the-secret-of-the-default-merchant';
    return { method: 'GET', url, path: url.pathname, secret, nonce: 'n', attempt: anAttempt(), requestBody: '' };
  }
  const send = (exchange: HttpExchange, options: Partial<Parameters<typeof sendHttpRequest>[2]> = {}) =>
    sendHttpRequest(
      exchange,
      { 'x-nonce': exchange.nonce },
      { maxBodyBytes: 16, signal: never, connection: 'kept', ...options },
    );

  it('returns status, headers, and body, and sends the next request over the same connection', async () => {
    const ports: (number | undefined)[] = [];
    const exchange = await peer((request, response) => {
      ports.push(request.socket.remotePort);
      response.writeHead(409, { 'x-answer': request.headers['x-nonce'] }).end('paid');
    });
    for (const nonce of ['a', 'b']) {
      const answer = await send({ ...exchange, nonce });
      expect(answer).toMatchObject({ status: 409, headers: { 'x-answer': nonce }, body: Buffer.from('paid') });
    }
    expect(ports[1]).toBe(ports[0]);
  });

  it('reads at most the allowed length of an answer', async () => {
    const exchange = await peer((_, response) => response.end('x'.repeat(17)));
    expect(await send(exchange)).toMatchObject({ status: 200, body: undefined });
    expect(await send(exchange, { maxBodyBytes: 17 })).toMatchObject({ body: Buffer.from('x'.repeat(17)) });
  });

  it('reports a stale kept-alive connection, and uses a new one if told to', async () => {
    let requests = 0;
    const exchange = await peer((request, response) => {
      if (++requests === 2) request.socket.resetAndDestroy();
      else response.end('ok');
    });
    await send(exchange);
    await expect(send(exchange)).rejects.toThrow(StaleConnectionError);
    expect(await send(exchange, { connection: 'new' })).toMatchObject({ status: 200 });
  });

  it('does not report a reset of a new connection as stale: the provider may have processed the request', async () => {
    const exchange = await peer((request) => request.socket.resetAndDestroy());
    await expect(send(exchange)).rejects.toMatchObject({ code: 'ECONNRESET' });
  });

  it('rejects an incomplete answer', async () => {
    const exchange = await peer((request, response) => {
      response.writeHead(200, { 'content-length': '2' });
      response.write('x', () => request.socket.destroy());
    });
    await expect(send(exchange)).rejects.toThrow(/abort|closed/);
  });

  it('does not wait forever after an unrequested upgrade', async () => {
    const exchange = await peer((request) =>
      request.socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n'),
    );
    await expect(send(exchange)).rejects.toThrow(/closed|hang up/);
  });

  it('does not start if its signal is already aborted', async () => {
    let requests = 0;
    const exchange = await peer((_, response) => {
      requests += 1;
      response.end();
    });
    await expect(send(exchange, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
    expect(requests).toBe(0);
  });

  it('ends when its signal aborts, before the answer and in the middle of it', async () => {
    const [early, half] = [new AbortController(), new AbortController()];
    const exchange = await peer((request, response) => {
      if (request.headers['x-nonce'] === 'early') early.abort();
      else response.write('x', () => half.abort());
    });
    await expect(send({ ...exchange, nonce: 'early' }, { signal: early.signal })).rejects.toThrow(/abort/);
    await expect(send({ ...exchange, nonce: 'half' }, { signal: half.signal })).rejects.toThrow(/abort/);
  });
});
