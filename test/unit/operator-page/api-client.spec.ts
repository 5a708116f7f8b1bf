import { ApiClient } from '../../../packages/operator-page/src/api/api-client';
import { ServerClock } from '../../../packages/operator-page/src/api/server-clock';

type Request = [address: string, init: RequestInit];

function clientOf(answer: () => Response): { client: ApiClient; requests: Request[]; onSignedOut: jest.Mock } {
  const requests: Request[] = [];
  const onSignedOut = jest.fn();
  const fetching = async (address: unknown, init?: RequestInit): Promise<Response> => {
    requests.push([String(address), init ?? {}]);
    return answer();
  };
  const client = new ApiClient({ fetch: fetching, clock: new ServerClock(() => 0), onSignedOut });
  return { client, requests, onSignedOut };
}

const json = (status: number, body: unknown): Response => new Response(JSON.stringify(body), { status });

describe('the client of the operator API', () => {
  it('asks at an address relative to the page', async () => {
    const { client, requests } = clientOf(() => json(200, []));
    await client.get('orders', { status: ['PENDING', 'CLOSING'], cursor: undefined, limit: 5 });
    expect(requests[0]?.[0]).toBe('api/orders?status=PENDING&status=CLOSING&limit=5');
  });

  it('proves with every change that it comes from the page', async () => {
    const { client, requests } = clientOf(() => json(200, {}));
    client.csrf = 'token';
    await client.get('overview');
    await client.post('orders/o-1/close', { reason: 'r' });
    expect(requests.map(([, { headers }]) => (headers as Record<string, string>)['x-csrf-token'])).toEqual([
      undefined,
      'token',
    ]);
  });

  it('reports what the service refuses, with its code', async () => {
    const { client } = clientOf(() => json(409, { code: 'ORDER_NOT_PENDING', detail: 'it is PAID' }));
    await expect(client.post('orders/o-1/extend')).rejects.toMatchObject({
      code: 'ORDER_NOT_PENDING',
      message: 'it is PAID',
    });
  });

  it('reports what a proxy answers instead of the service', async () => {
    const { client } = clientOf(() => new Response('<h1>Bad gateway</h1>', { status: 502, statusText: 'Bad gateway' }));
    await expect(client.get('overview')).rejects.toMatchObject({
      status: 502,
      code: 'HTTP_502',
      message: 'Bad gateway',
    });
  });

  it('reports that nobody answers', async () => {
    const { client } = clientOf(() => {
      throw new TypeError('fetch failed');
    });
    await expect(client.get('overview')).rejects.toMatchObject({ status: 0, code: 'NO_ANSWER' });
  });

  it('notices the end of the session, but not a wrong key', async () => {
    const { client, onSignedOut } = clientOf(() => json(401, { code: 'UNAUTHORIZED' }));
    await expect(client.post('session', { key: 'wrong' })).rejects.toMatchObject({ status: 401 });
    expect(onSignedOut).not.toHaveBeenCalled();
    await expect(client.get('overview')).rejects.toMatchObject({ status: 401 });
    expect(onSignedOut).toHaveBeenCalledTimes(1);
  });
});

describe("the service's clock", () => {
  it('corrects a computer whose clock is wrong, and no smaller difference', () => {
    const clock = new ServerClock(() => 1_000_000);
    clock.note(new Date(1_060_000).toUTCString());
    expect(clock.now()).toBe(1_060_000);
    clock.note(new Date(1_001_000).toUTCString());
    expect(clock.now()).toBe(1_000_000);
    clock.note(null);
    expect(clock.now()).toBe(1_000_000);
  });
});
