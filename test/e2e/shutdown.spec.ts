import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEYS, openService, type RunningService } from './running-service';

/** Asks for all orders on a connection of this agent. */
function askOn(agent: Agent, url: string): Promise<{ status: number | undefined; connection: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = get(`${url}/orders`, { agent, headers: { 'x-api-key': KEYS.all } }, (response) => {
      const { statusCode: status, headers } = response;
      response.resume().once('end', () => resolve({ status, connection: headers.connection }));
    });
    request.once('error', reject);
  });
}

describe('the shutdown of the service', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });

  afterAll(() => service.close());

  it('answers the request on a connection that is in use, and waits no longer for its client', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const url = await service.app.getUrl();
    expect(await askOn(agent, url)).toEqual({ status: 200, connection: 'keep-alive' });
    const { dataSource } = service.database;
    const holder = dataSource.createQueryRunner();
    await holder.startTransaction();
    await holder.query('LOCK TABLE order_timeout.orders IN ACCESS EXCLUSIVE MODE');
    const answer = askOn(agent, url);
    await sleep(200);
    const beganAt = performance.now();
    const closing = service.app.close();
    await sleep(500);
    await holder.rollbackTransaction();
    await holder.release();
    expect(await answer).toMatchObject({ status: 200 });
    await closing;
    // Load balancers keep a connection for 60 s, so the service does for 75.
    expect(performance.now() - beganAt).toBeLessThan(60_000);
    agent.destroy();
  }, 90_000);
});
