import { randomUUID } from 'node:crypto';
import { connect } from 'amqplib';
import { type DoctorReport } from '../../../src/operations';
import { TopologyNames } from '../../../src/rabbit';
import { until } from '../../support/until';
import { managementUrl, runJson } from '../../support/command-line';
import { PREFIX } from '../running-service';
import { openSilentService, type SilentService } from './silent-service';

type Examined = DoctorReport & { readonly code: number };

const names = new TopologyNames(PREFIX);
const ALL = '^order-timeout\\.v1\\.';

describe('the doctor finds, of the rights of the broker user,', () => {
  let service: SilentService;

  beforeAll(async () => {
    service = await openSilentService();
    await service.stop();
  });
  afterAll(() => service.drop());

  const examine = (url: string, changed: Record<string, string> = {}): Promise<Examined> => {
    const broker = { RABBITMQ_URLS: url, RABBITMQ_MANAGEMENT_URL: managementUrl() };
    return runJson({ ...service.environment, ...broker, ...changed }, 'doctor');
  };
  const seen = ({ findings }: Examined, id = 'broker-permissions') => findings.find((one) => one.id === id)?.seen;
  const urlOf = (user: string): string => {
    const url = new URL(service.vhost.url);
    [url.username, url.password] = [user, 'limited'];
    return url.href;
  };

  /** What the doctor finds for a user with these rights and no others. */
  async function examineAs(rights: Record<'configure' | 'write' | 'read', string>): Promise<Examined> {
    const user = `limited-${randomUUID()}`;
    await service.vhost.manage('PUT', `/users/${user}`, { password: 'limited', tags: '' });
    await service.vhost.manage('PUT', `/permissions/${service.vhost.name}/${user}`, rights);
    const report = await examine(urlOf(user));
    for (const { remedy } of report.findings.filter(({ id }) => id === 'broker-permissions')) {
      const told = /set_permissions -p '(.*)' '(.*)' '(.*)' '(.*)' '(.*)'/.exec(remedy) ?? [];
      const [, where, who, configure, write, read] = told;
      await service.vhost.manage('PUT', `/permissions/${where}/${who}`, { configure, write, read });
    }
    const after = await examine(urlOf(user));
    await service.vhost.manage('DELETE', `/users/${user}`);
    expect(after.findings.map(({ id }) => id)).not.toContain('broker-permissions');
    return report;
  }

  it('3. a user without rights on the prefix', async () => {
    const report = await examineAs({ configure: '^other', write: '^other', read: '.*' });
    expect(seen(report)).toContain('limited-');
    const remedy = report.findings.find(({ id }) => id === 'broker-permissions')?.remedy;
    expect(remedy).toContain(`set_permissions -p '${service.vhost.name}' 'limited-`);
    expect(remedy).toContain(`'^order-timeout\\.v1\\.' '^(amq\\.default$|order-timeout\\.v1\\.)'`);
  });

  it.each([
    ['publish events', { write: `^amq\\.default$|${ALL}(?!events$)` }, `exchange '${names.events}'`],
    ['consume', { read: `${ALL}(?!commands$|work\\.)` }, `queue '${names.workQueue('order.payment')}'`],
    ['publish wake-ups', { write: `^amq\\.default$|${ALL}(?!delay-)` }, `exchange '${PREFIX}.delay-`],
    ['declare what it shares with others', { configure: `${ALL}(?!parked$)` }, `'${names.parked}'`],
  ])('24. a user who may not %s', async (_, rights, what) => {
    const report = await examineAs({ configure: ALL, write: `^amq\\.default$|${ALL}`, read: ALL, ...rights });
    expect(report.code).toBe(2);
    expect(seen(report)).toContain(what);
  });

  it('25. a user who may not answer commands, as a warning', async () => {
    const report = await examineAs({ configure: ALL, write: ALL, read: ALL });
    expect(seen(report)).toContain('So commands get no answers.');
    expect(report.findings.find(({ id }) => id === 'broker-permissions')?.severity).toBe('warning');
  });

  it('3. a user without rights on the prefix that the instances were given last', async () => {
    const user = `limited-${randomUUID()}`;
    const { vhost } = service;
    await vhost.manage('PUT', `/users/${user}`, { password: 'limited', tags: '' });
    await vhost.manage('PUT', `/permissions/${vhost.name}/${user}`, { configure: ALL, write: ALL, read: ALL });
    const { findings } = await examine(urlOf(user), { RABBITMQ_PREFIX: 'shop' });
    await vhost.manage('DELETE', `/users/${user}`);
    const [found] = findings.filter(({ id }) => id === 'other-settings');
    expect(found?.seen).toContain(`exchange 'shop.events'`);
    expect(found?.remedy).toContain(`set_permissions -p '${vhost.name}' '${user}' '^shop\\.' `);
  });

  it('says nothing of rights to a user who has them, and takes no message', async () => {
    const queue = names.workQueue('order.payment');
    const connection = await connect(service.vhost.url);
    const channel = await connection.createConfirmChannel();
    channel.sendToQueue(queue, Buffer.from('{}'), { persistent: true });
    await channel.waitForConfirms();
    const report = await examineAs({ configure: ALL, write: `^amq\\.default$|${ALL}`, read: ALL });
    expect(report.findings.map(({ id }) => id)).not.toContain('broker-permissions');
    const message = await channel.get(queue, { noAck: true });
    expect(message && message.fields).toMatchObject({ redelivered: false });
    await connection.close();
  });

  it('26. a limit of channels', async () => {
    const user = `limited-${randomUUID()}`;
    const { vhost } = service;
    await vhost.manage('PUT', `/users/${user}`, { password: 'limited', tags: '' });
    await vhost.manage('PUT', `/permissions/${vhost.name}/${user}`, { configure: '.*', write: '.*', read: '.*' });
    await vhost.manage('PUT', `/user-limits/${user}/max-channels`, { value: 1 });
    // The broker counts channels behind their back: on a busy machine, one more may open.
    await until(async () => {
      const found = seen(await examine(urlOf(user)), 'broker-channels') ?? '';
      return found.includes('maximum allowed user limit of (1)');
    });
    await vhost.manage('DELETE', `/users/${user}`);
  });
});
