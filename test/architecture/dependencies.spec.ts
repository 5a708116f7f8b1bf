import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { stretched } from '../support/machine-load';

const repository = join(__dirname, '../..');
const rules = join(__dirname, 'dependency-rules.cjs');
const cruiser = join(repository, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');

/** Runs dependency-cruiser over `src` and `packages` below `directory`. */
function cruise(directory: string): { output: string; status: number | null } {
  const run = spawnSync(process.execPath, [cruiser, 'src', 'packages', '--config', rules, '--output-type', 'err'], {
    cwd: directory,
    encoding: 'utf8',
    timeout: stretched(60_000),
  });
  return { output: run.stdout + run.stderr, status: run.status };
}

describe('the architecture', () => {
  it('keeps every dependency pointing the allowed way', () => {
    const { output, status } = cruise(repository);
    expect(output).toContain('no dependency violations found');
    expect(status).toBe(0);
  });

  describe('is broken, and noticed, by', () => {
    const { output, status } = cruise(join(__dirname, 'fixtures'));

    it.each([
      ['an arrow the other way', 'inventory-knows-only-what-it-may'],
      ['a circle', 'no-circular'],
      ['folders that need each other', 'folders-of-a-room-one-way'],
      ["reaching past a room's index", 'rooms-by-their-index'],
      ['AMQP outside of rabbit', 'amqp-in-rabbit'],
      ['the test kit in production code', 'no-test-kit-in-production'],
      ['the simulator in the product', 'product-without-simulator'],
      ['the product in the simulator', 'simulator-stands-alone'],
    ])('%s', (_case, rule) => {
      expect(output).toContain(rule);
      expect(status).not.toBe(0);
    });
  });
});
