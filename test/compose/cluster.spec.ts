import { answerOf } from '../support/until';
import { container, inShell, removeAll, runDocumented } from './compose-project';
import { unconfined } from './confinement';
import { ShopClient } from './shop-client';

const UP =
  'docker compose --profile cluster up --detach --wait rabbitmq-1 rabbitmq-2 rabbitmq-3 postgres service-cluster';

interface Queue {
  readonly name: string;
  readonly type: string;
  readonly members: readonly string[];
}

describe('the profile cluster', () => {
  const shop = new ShopClient('service-cluster');

  beforeEach(() => runDocumented(UP));
  afterAll(removeAll);

  const runningNodes = async (): Promise<number> => {
    const status = await runDocumented('docker compose exec rabbitmq-1 rabbitmqctl cluster_status --formatter json');
    return (JSON.parse(status) as { running_nodes: string[] }).running_nodes.length;
  };

  it('makes one cluster of its three brokers', async () => {
    expect(await runningNodes()).toBe(3);
  });

  it('keeps every queue of the service on all three', async () => {
    expect(await shop.untilReady()).toMatchObject({ transport: 'ladder' });
    const command = 'docker compose exec rabbitmq-1 rabbitmqctl list_queues --formatter json name type members';
    const queues = (JSON.parse(await inShell(command)) as Queue[]).filter(({ name }) =>
      name.startsWith('order-timeout.v1.'),
    );
    expect(queues.length).toBeGreaterThan(147);
    expect(queues.filter(({ type, members }) => type !== 'quorum' || members.length !== 3)).toEqual([]);
  });

  it('runs nothing as root, and lets no process write to its image', async () => {
    expect(await unconfined()).toEqual([]);
  });

  it.each(['rabbitmq-1', 'rabbitmq-2', 'rabbitmq-3'])(
    'closes orders while %s is gone, gets its message path back without it, and takes it in again',
    async (node) => {
      await shop.untilReady();
      const id = await shop.place(15_000);
      await inShell(`docker kill ${(await container(node)).Id}`);
      expect(await shop.closing(id)).toMatchObject({ to: 'CLOSED' });
      await shop.untilReady();
      await runDocumented(UP);
      await answerOf(`three nodes after ${node} was gone`, 60_000, undefined, async () =>
        (await runningNodes()) === 3 ? true : undefined,
      );
    },
  );
});
