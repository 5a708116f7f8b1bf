import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { serverUrl } from '../support/database';

const REPOSITORY = join(__dirname, '../..');
const ORDERS = 30;
/** Packages and the build may have to be made first. The run itself takes about half a minute. */
const LIMIT_MS = 300_000;

interface Report {
  readonly passed: boolean;
  readonly transportInUse: string;
  readonly events?: unknown;
  readonly checks: readonly {
    readonly name: string;
    readonly holds: boolean;
    readonly violations: readonly string[];
  }[];
}

/** Runs a script with the look-up of a broker turned off. */
async function run(script: string, args: readonly string[]) {
  const child = spawn(process.execPath, [join(REPOSITORY, 'scripts', script), ...args], {
    cwd: REPOSITORY,
    env: { ...process.env, DATABASE_URL: serverUrl(), RABBITMQ_URLS: 'none' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [stdout, stderr, exit] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { code: exit[0] as unknown, stdout, stderr };
}

describe('npm run demo without a broker', () => {
  it(
    'says so, runs on PostgreSQL alone, and every check that needs no broker holds',
    async () => {
      const { code, stdout, stderr } = await run('demo.mjs', ['--orders', String(ORDERS), '--seed', '7', '--json']);
      expect(stderr).toContain(
        'RabbitMQ: none, because RABBITMQ_URLS is "none". PostgreSQL alone triggers the deadlines',
      );
      const { passed, transportInUse, events, checks } = JSON.parse(stdout) as Report;
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
      expect(checks.map(({ name }) => name)).toContain('in-time');
      expect({ code, passed, transportInUse, events }).toEqual({ code: 0, passed: true, transportInUse: 'none' });
    },
    LIMIT_MS,
  );

  it(
    'refuses a transport that needs one',
    async () => {
      const { code, stderr } = await run('demo.mjs', ['--transport', 'ladder']);
      expect(code).toBe(1);
      expect(stderr).toContain('--transport ladder needs a broker, and there is none');
    },
    LIMIT_MS,
  );
});
