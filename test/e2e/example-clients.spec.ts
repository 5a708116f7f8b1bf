import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from '../support/snippets';
import { findPika } from './find-pika';
import { KEYS, openService, type RunningService } from './running-service';
import { stretched } from '../support/machine-load';

const run = promisify(execFile);
const pika = findPika();

describe('the example clients', () => {
  let service: RunningService;

  beforeAll(async () => {
    service = await openService();
  });
  afterAll(() => service.close());

  async function output(program: string, file: string, env: Record<string, string> = {}): Promise<string[]> {
    const { stdout } = await run(program, [join(REPOSITORY, 'examples/clients', file)], {
      env: {
        ...process.env,
        ...env,
        SERVICE_URL: await service.app.getUrl(),
        RABBITMQ_URL: service.vhost.url,
        API_KEY: KEYS.all,
      },
      timeout: stretched(25_000),
    });
    // Ids are random, and events of two orders may come in any order.
    return stdout
      .trim()
      .split('\n')
      .map((line) => line.replace(/-(?:\d{10}-\d+|[0-9a-f]{8}-[0-9a-f-]{27})/, ''))
      .sort();
  }

  it('place over HTTP and over AMQP, and hear of both closings, in Node.js', async () => {
    expect(await output(process.execPath, 'client.mjs')).toEqual([
      'node-amqp is closed: expired',
      'node-amqp is sent over AMQP',
      'node-http is closed: expired',
      'node-http is placed over HTTP',
    ]);
  });

  (pika ? it : it.skip)('do the same in Python (skipped where pika is not installed)', async () => {
    expect(await output('python3', 'client.py', { PYTHONPATH: pika?.path ?? '' })).toEqual([
      'python-amqp is closed: expired',
      'python-amqp is sent over AMQP',
      'python-http is closed: expired',
      'python-http is placed over HTTP',
    ]);
  });

  it('place over HTTP and read until it is closed, with curl', async () => {
    expect(await output('sh', 'client.sh')).toEqual(['curl is closed', 'curl is placed over HTTP']);
  });

  it('fail with the problem if the key is wrong', async () => {
    const wrong = run('sh', [join(REPOSITORY, 'examples/clients/client.sh')], {
      env: { ...process.env, SERVICE_URL: await service.app.getUrl(), API_KEY: 'wrong' },
    });
    await expect(wrong).rejects.toMatchObject({ stdout: expect.stringContaining('"code":"UNAUTHORIZED"') as string });
  });
});
