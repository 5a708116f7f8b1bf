import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { stretched } from '../support/machine-load';

const COMMAND = join(__dirname, '../../packages/payment-simulator/bin/payment-simulator.js');

function end(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const options = { env: { PATH: process.env.PATH, ...env }, encoding: 'utf8', timeout: stretched(10_000) } as const;
  return spawnSync(COMMAND, args, options);
}

describe('the command of the payment simulator', () => {
  it('starts the build, and ends at SIGTERM', async () => {
    // Empty, as Docker Compose passes a variable that nobody has set.
    const env = { PATH: process.env.PATH, PAYMENT_SIMULATOR_PORT: '' };
    const child = spawn(COMMAND, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(child, 'exit');
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    const { url } = JSON.parse(line) as { url: string };
    const ledger = await fetch(`${url}/script/ledger`);
    expect(await ledger.json()).toMatchObject({ payments: [] });
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  it('lists its variables', () => {
    const { status, stdout } = end(['--help']);
    expect(status).toBe(0);
    const variables = ['PORT', 'HOST', 'SECRET', 'NAME', 'ACCOUNTS', 'RETRY_SPEED_UP'];
    for (const variable of variables) expect(stdout).toContain(`PAYMENT_SIMULATOR_${variable} `);
  });

  it('refuses what it does not know, and names every invalid variable', () => {
    const unknown = end(['--port', '4000']);
    expect([unknown.status, unknown.stderr]).toEqual([1, expect.stringContaining("Unknown option '--port'")]);
    const invalid = end([], { PAYMENT_SIMULATOR_PORT: 'http', PAYMENT_SIMULATOR_RETRY_SPEED_UP: '0' });
    expect(invalid.status).toBe(1);
    expect(invalid.stderr).toMatch(/PORT: "http" is not a number; PAYMENT_SIMULATOR_RETRY_SPEED_UP: .*>0; see --help/);
  });
});
