import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const REPOSITORY = join(__dirname, '..', '..');

const SEED = 5_000;

/** In a process of its own: it replaces the clocks of the process. */
function play(name: string): { readonly status: number | null; readonly worlds: readonly string[] } {
  const program = ['-r', './test/support/compile-on-require.js', 'test/simulation/main.ts'];
  const args = [...program, '--seed', String(SEED), '--worlds', '3', '--name', name];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: REPOSITORY, encoding: 'utf8' });
  expect(stderr).toBe('');
  return { status, worlds: stdout.split('\n').filter((line) => line.startsWith('world ')) };
}

describe('a simulated world', () => {
  it('has nothing wrong in it, and is the same whenever it is played', () => {
    const first = play('order_timeout_simulation_a');
    expect(first).toMatchObject({ status: 0 });
    expect(first.worlds).toHaveLength(3);
    expect(play('order_timeout_simulation_b')).toEqual(first);
  });
});
