import { inShell, removeAll } from './compose-project';

describe('the image of the broker with the plugin', () => {
  afterAll(removeAll);

  it('is not built from a file with another checksum', async () => {
    const build = `docker compose build --build-arg PLUGIN_SHA256=${'0'.repeat(64)} rabbitmq`;
    await expect(inShell(build)).rejects.toThrow(/plugin\.ez: FAILED/);
  });

  it('has the plugin enabled', async () => {
    const read = 'docker compose run --rm --no-deps --entrypoint cat rabbitmq /etc/rabbitmq/enabled_plugins';
    expect(await inShell(read)).toContain('rabbitmq_delayed_message_exchange');
  });
});
