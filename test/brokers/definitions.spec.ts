import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'amqplib';
import { DelayedExchange, Ladder, probeTransport } from '../../src/delay';
import { TopologyNames } from '../../src/rabbit';
import { DelayRig } from '../integration/delay/delay-rig';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

const SECRETS: Readonly<Record<string, string>> = {
  RABBITMQ_DEFAULT_USER: 'definitions-admin',
  RABBITMQ_DEFAULT_PASS: 'admin-password',
  OT_SERVICE_PASSWORD: 'service-password',
  OT_SENDER_PASSWORD: 'sender-password',
  OT_LISTENER_PASSWORD: 'listener-password',
};

interface Definitions {
  readonly users: readonly object[];
  readonly permissions: readonly object[];
  readonly topic_permissions?: readonly object[];
}

/** The template of rabbit/ with passwords, everything in the vhost of the test instead of "/". */
function definitionsFor(vhost: string): Definitions {
  const path = join(__dirname, '../../rabbit/definitions.template.json');
  const text = readFileSync(path, 'utf8').replaceAll(/\$\{(\w+)\}/g, (_, name: string) => SECRETS[name] ?? '');
  const moved = text.replaceAll('"vhost": "/"', `"vhost": "${vhost}"`);
  return { ...(JSON.parse(moved) as Definitions), vhosts: [] } as Definitions;
}

describe('the definitions that we ship', () => {
  let vhost: TestVhost;

  beforeAll(async () => {
    vhost = await createVhost('plain');
    await vhost.manage('POST', '/definitions', definitionsFor(vhost.name));
  });
  afterAll(async () => {
    for (const user of ['definitions-admin', 'service', 'sender', 'listener'])
      await vhost.manage('DELETE', `/users/${user}`);
    await vhost.drop();
  });

  const urlAs = (user: string, password: string): string => {
    const url = new URL(vhost.url);
    url.username = user;
    url.password = password;
    return url.href;
  };
  const serviceUrl = (): string => urlAs('service', 'service-password');

  it('are taken by the broker, agree with what the service declares, and let it do its work', async () => {
    const rig = await DelayRig.open(serviceUrl(), (names) => new Ladder(names));
    try {
      const id = await rig.wake('order.payment', 1_500);
      expect((await rig.handles(1)).map((handled) => handled.id)).toEqual([id]);
      expect(rig.handled[0]?.handledAtMs).toBeGreaterThanOrEqual(rig.handled[0]?.dueAtMs ?? Infinity);
    } finally {
      await rig.close();
    }
  });

  it('let the service find out that there is no delayed exchange', async () => {
    const plugin = new DelayedExchange(new TopologyNames('order-timeout.v1'));
    expect(await probeTransport(() => connect(serviceUrl()), plugin)).toEqual({ type: 'absent' });
  });

  it('keep a sender of commands from everything else', async () => {
    const connection = await connect(urlAs('sender', 'sender-password'));
    connection.on('error', () => undefined);
    try {
      const channel = await connection.createChannel();
      channel.on('error', () => undefined);
      await expect(channel.assertQueue('order-timeout.v1.mine')).rejects.toThrow(/ACCESS_REFUSED/);
    } finally {
      await connection.close();
    }
  });
});
