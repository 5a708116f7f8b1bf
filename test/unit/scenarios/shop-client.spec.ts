import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { ShopClient } from '../../scenarios/stage/shop-client';

const ORDER = { id: 'o-1', merchantId: 'shop', amount: 1, currency: 'CNY', lines: [], autoClose: true };
const BUSY = { status: 503, body: { code: 'BUSY' } };

describe('the shop of the scenarios', () => {
  let server: Server;
  let answers: { status: number; body: object }[];
  let shop: ShopClient;

  beforeEach(async () => {
    server = createServer((request, response) => {
      request.resume().on('end', () => {
        const { status, body } = answers.shift() ?? { status: 500, body: { code: 'NOT_EXPECTED' } };
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    shop = new ShopClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'key');
  });
  afterEach(() => server.close());

  const place = (): Promise<Date> => shop.place({ ...ORDER, paymentWindowMs: 1_000 });

  it('places an order again that the service was too busy for', async () => {
    const expiresAt = '2030-01-01T00:00:00.000Z';
    answers = [BUSY, BUSY, { status: 201, body: { expiresAt } }];
    expect(await place()).toEqual(new Date(expiresAt));
    expect(answers).toEqual([]);
  });

  it('takes no other answer for a reason to ask again', async () => {
    answers = [{ status: 503, body: { code: 'UNAVAILABLE' } }];
    await expect(place()).rejects.toThrow('503');
  });
});
