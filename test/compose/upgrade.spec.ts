import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasHistory, type PreviousRelease, unpackPreviousRelease } from '../support/previous-release';
import { container, inShell, removeAll, runDocumented } from './compose-project';
import { unconfined } from './confinement';
import { ShopClient } from './shop-client';

const UP = 'docker compose --profile plain up --detach --wait --build rabbitmq-plain postgres service-plain';
const WINDOW_MS = 120_000;

// Without the history there is no release before, and the counts of the run tell that this was left out.
(hasHistory() ? describe : describe.skip)('an upgrade from the release before, with its volumes', () => {
  const shop = new ShopClient('service-plain');
  let previous: PreviousRelease;

  beforeAll(async () => {
    previous = await unpackPreviousRelease(['.']);
  });
  afterAll(async () => {
    await removeAll();
    await previous.remove();
  });

  /** The Compose files of the release before, built as those of this one are. */
  async function filesOfPrevious(): Promise<string> {
    const override = join(previous.folder, 'override.json');
    const build = (process.env.COMPOSE_FILE ?? '').includes(':') ? { network: 'host' } : {};
    await writeFile(
      override,
      JSON.stringify({ services: { 'rabbitmq-plain': { build }, 'service-plain': { build } } }),
    );
    return `${join(previous.folder, 'docker-compose.yml')}:${override}`;
  }

  it('keeps the orders, and closes one by the wake-up that the release before has left on the broker', async () => {
    const COMPOSE_FILE = await filesOfPrevious();
    await inShell(UP, { COMPOSE_FILE });
    // Built in advance, so that the order waits for the upgrade and not for a compiler.
    await inShell('docker compose --profile plain build rabbitmq-plain service-plain');
    const before = await container('service-plain');
    await shop.untilReady();
    const id = await shop.place(WINDOW_MS);
    const { expiresAt } = await shop.order(id);

    await runDocumented(UP);
    expect((await container('service-plain')).Id).not.toBe(before.Id);
    await shop.untilReady();
    expect(Date.now()).toBeLessThan(Date.parse(expiresAt));
    expect(await shop.order(id)).toMatchObject({ id, status: 'PENDING', expiresAt });
    const closing = await shop.closing(id, WINDOW_MS + 30_000);
    expect(closing).toMatchObject({ to: 'CLOSED', cause: 'message' });
    expect(Date.parse(closing.occurredAt)).toBeGreaterThanOrEqual(Date.parse(expiresAt));
  });

  it('runs nothing as root anymore, although the release before has made the volumes as root', async () => {
    expect(await unconfined()).toEqual([]);
  });
});
