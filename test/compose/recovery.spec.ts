import { answerOf } from '../support/until';
import { container, crash, inShell, removeAll, runDocumented } from './compose-project';
import { ShopClient } from './shop-client';

const UP = 'docker compose --profile plain up --detach --wait rabbitmq-plain postgres service-plain';
const WINDOW_MS = 20_000;

describe('a container that is killed', () => {
  const shop = new ShopClient('service-plain');

  beforeAll(() => runDocumented(UP));
  afterAll(removeAll);

  it.each(['service-plain', 'rabbitmq-plain', 'postgres'])(
    'comes back by itself after a crash, and the orders close: %s',
    async (service) => {
      await shop.untilReady();
      const id = await shop.place(WINDOW_MS);
      const before = await container(service);
      await crash(service);
      await answerOf(`a new process of ${service}`, 60_000, undefined, async () => {
        const { State } = await container(service);
        return State.Status === 'running' && State.Pid !== before.State.Pid && State.Pid > 0 ? true : undefined;
      });
      expect(await shop.closing(id, 120_000)).toMatchObject({ to: 'CLOSED' });
      await shop.untilReady();
    },
  );

  it.each(['service-plain', 'rabbitmq-plain', 'postgres'])(
    'comes back with the command of the page after docker kill, and the orders close: %s',
    async (service) => {
      await shop.untilReady();
      const id = await shop.place(WINDOW_MS);
      await inShell(`docker kill ${(await container(service)).Id}`);
      expect((await container(service)).State.Status).toBe('exited');
      await runDocumented(UP);
      expect(await shop.closing(id, 120_000)).toMatchObject({ to: 'CLOSED' });
      await shop.untilReady();
    },
  );
});
