import { once } from 'node:events';
import { createDatabase } from '../support/database';
import { createVhost } from '../support/rabbit-vhost';
import { startServiceProcess as start } from '../support/service-process';
import { environmentOf } from './running-service';

describe('the process', () => {
  it('ends with one sentence and code 1 when the environment is wrong', async () => {
    const { output, exited } = start({ PORT: 'x', DATABASE_URL: 'postgresql://u:hunter2@db/x' });
    expect(await exited).toBe(1);
    expect(output.stderr.trim().split('\n')).toEqual([
      'nestjs-order-timeout cannot start: ORDER_TIMEOUT/INVALID_OPTIONS: environment: 3 problems: ' +
        'PORT must be an integer from 0 to 65535 (got x); API_KEYS must be set; ' +
        'RABBITMQ_URLS must be set; "none" means that there is no broker',
    ]);
  });

  it('ends with one sentence and code 1 when the database refuses it', async () => {
    const url = new URL(process.env.DATABASE_URL ?? '');
    url.pathname = '/no_such_database';
    const { output, exited } = start(environmentOf(url.href, 'amqp://127.0.0.1:1'));
    expect(await exited).toBe(1);
    expect(output.stderr).toBe('nestjs-order-timeout cannot start: database "no_such_database" does not exist\n');
  });

  it('logs in JSON, and ends in order at SIGTERM', async () => {
    const [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    const run = start({ ...environmentOf(database.url, vhost.url), LOG_LEVEL: 'info' });
    while (!run.output.stdout.includes('Nest application successfully started'))
      await once(run.child.stdout ?? run.child, 'data');
    run.child.kill('SIGTERM');
    await run.exited;
    const lines = run.output.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { context: string; msg: string });
    expect(lines.map(({ msg }) => msg)).toContainEqual(expect.stringMatching(/^stopped: 0 deliveries requeued/));
    expect(run.output.stderr).toBe('');
    await database.drop();
    await vhost.drop();
  });
});
