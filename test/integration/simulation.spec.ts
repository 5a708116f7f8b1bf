import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const REPOSITORY = join(__dirname, '..', '..');

const SEED = 5_000;

/** In a process of its own: what it says is its whole result. */
function play(...args: readonly string[]): { readonly status: number | null; readonly lines: readonly string[] } {
  const program = ['-r', './test/support/compile-on-require.js', 'test/simulation/main.ts', '--workers', '1'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...program, ...args], {
    cwd: REPOSITORY,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return { status, lines: stdout.trim().split('\n') };
}

function worldsOf(name: string, seed: number, count: number): readonly string[] {
  const { status, lines } = play('--seed', String(seed), '--worlds', String(count), '--name', name);
  expect(status).toBe(0);
  return lines.filter((line) => line.startsWith('world '));
}

describe('a simulated world', () => {
  it('is the same whenever it is played, whatever was played before', () => {
    const first = worldsOf('order_timeout_simulation_a', SEED, 2);
    expect(first).toHaveLength(2);
    expect(worldsOf('order_timeout_simulation_b', SEED + 1, 1)).toEqual(first.slice(1));
  });

  it('has nothing wrong in it', () => {
    const { status, lines } = play('--seed', String(SEED), '--worlds', '6', '--name', 'order_timeout_simulation_c');
    // With the seed, and what is wrong.
    if (status !== 0) throw new Error(lines.join('\n'));
    expect(lines.at(-1)).toMatch(/^6 worlds, 0 bad/);
  });

  it('shows when the product is weaker', () => {
    const weaker = ['--weakness', 'closes-here-only', '--seed', String(SEED), '--worlds', '200'];
    const { status, lines } = play(...weaker, '--name', 'order_timeout_simulation_d');
    expect(lines.at(-1)).toBe('ok: each is found');
    expect(status).toBe(0);
  });
});
