import { containers, leftovers, removeAll, runDocumented, urlOf } from './compose-project';
import { unconfined } from './confinement';
import { ShopClient } from './shop-client';

const UP_PLAIN = 'docker compose --profile plain up --detach --wait rabbitmq-plain postgres service-plain';

const healthOf = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(await containers()).map(([service, { State }]) => [service, State.Health?.Status ?? State.Status]),
  );

describe('the default profile', () => {
  const shop = new ShopClient('service');
  afterAll(removeAll);

  it('comes up healthy with one command', async () => {
    await runDocumented('docker compose up --detach --wait');
    expect(await healthOf()).toEqual({ rabbitmq: 'healthy', postgres: 'healthy', service: 'healthy' });
  });

  it('closes an order by a wake-up that waits in the delayed-message exchange', async () => {
    expect(await shop.untilReady()).toMatchObject({ transport: 'delayed-exchange' });
    expect(await shop.closing(await shop.place(3_000))).toMatchObject({ to: 'CLOSED', cause: 'message' });
  });

  it('runs nothing as root, and lets no process write to its image', async () => {
    expect(await unconfined()).toEqual([]);
  });

  it('publishes its ports on loopback only', async () => {
    for (const [service, port] of [
      ['service', 3000],
      ['rabbitmq', 5672],
      ['postgres', 5432],
    ] as const)
      expect(new URL(await urlOf(service, port)).hostname).toBe('127.0.0.1');
  });

  it('shows its logs', async () => {
    expect(await runDocumented('docker compose logs service')).toContain('listening on');
  });

  it('keeps the data when it is stopped, and leaves nothing when that is wanted', async () => {
    const id = await shop.place(600_000);
    await runDocumented('docker compose down');
    expect(await containers()).toEqual({});
    await runDocumented('docker compose up --detach --wait --build');
    expect(await shop.order(id)).toMatchObject({ id, status: 'PENDING' });
    await runDocumented("docker compose --profile '*' down --volumes");
    expect(await leftovers()).toEqual([]);
  });
});

describe('the profile plain', () => {
  const shop = new ShopClient('service-plain');
  afterAll(removeAll);

  it('comes up healthy, and closes an order by a wake-up that waits in the ladder', async () => {
    await runDocumented(UP_PLAIN);
    expect(await healthOf()).toEqual({ 'rabbitmq-plain': 'healthy', postgres: 'healthy', 'service-plain': 'healthy' });
    expect(await shop.untilReady()).toMatchObject({ transport: 'ladder' });
    expect(await shop.closing(await shop.place(3_000))).toMatchObject({ to: 'CLOSED', cause: 'message' });
  });

  it('runs nothing as root, and lets no process write to its image', async () => {
    expect(await unconfined()).toEqual([]);
  });

  it('closes an order by the sweep where nothing waits on the broker', async () => {
    await runDocumented(UP_PLAIN, { DELAY_TRANSPORT: 'none' });
    await shop.untilReady();
    expect(await shop.closing(await shop.place(3_000))).toMatchObject({ to: 'CLOSED', cause: 'sweep' });
  });
});
