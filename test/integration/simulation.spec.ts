import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const REPOSITORY = join(__dirname, '..', '..');

const SEED = 5_000;

/** In a process of its own: it replaces the clocks of the process. */
function play(
  name: string,
  seed: number,
  count: number,
): { readonly status: number | null; readonly worlds: readonly string[] } {
  const program = ['-r', './test/support/compile-on-require.js', 'test/simulation/main.ts'];
  const args = [...program, '--seed', String(seed), '--worlds', String(count), '--workers', '1', '--name', name];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: REPOSITORY, encoding: 'utf8' });
  expect(stderr).toBe('');
  return { status, worlds: stdout.split('\n').filter((line) => line.startsWith('world ')) };
}

describe('a simulated world', () => {
  it('has nothing wrong in it, and is the same whenever it is played, whatever was played before', () => {
    const first = play('order_timeout_simulation_a', SEED, 3);
    expect(first).toMatchObject({ status: 0 });
    expect(first.worlds).toHaveLength(3);
    const rest = play('order_timeout_simulation_b', SEED + 1, 2);
    expect(rest.worlds).toEqual(first.worlds.slice(1));
  });
});
