import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const read = (file: string): string => readFileSync(join(__dirname, '../../..', file), 'utf8');

const { version } = JSON.parse(read('package.json')) as { version: string };

describe('the version of package.json', () => {
  it('is the newest one of the changelog, which dates it', () => {
    const released = [...read('CHANGELOG.md').matchAll(/^## (?!Unreleased)(.*)$/gm)].map(([, heading]) => heading);
    expect(released[0]).toMatch(new RegExp(`^${version.replaceAll('.', '\\.')} \\(\\d{4}-\\d\\d-\\d\\d\\)$`));
  });

  it('is the one of the lock file', () => {
    const lock = JSON.parse(read('package-lock.json')) as {
      version: string;
      packages: Record<string, { version: string }>;
    };
    const workspace = lock.packages['packages/payment-simulator'];
    expect([lock.version, lock.packages['']?.version, workspace?.version]).toEqual([version, version, version]);
  });

  it('is that of the payment simulator, which is released with the product', () => {
    const simulator = JSON.parse(read('packages/payment-simulator/package.json')) as { version: string };
    expect(simulator.version).toBe(version);
  });

  it.each([
    ['README.md', 'nestjs-order-timeout'],
    ['docs/getting-started.md', 'nestjs-order-timeout'],
    ['docs/hosts.md', 'nestjs-order-timeout'],
    ['packages/payment-simulator/README.md', 'nestjs-order-timeout-payment-simulator'],
  ])('is in the names of the packed files on %s', (page, name) => {
    const names = [...read(page).matchAll(/nestjs-order-timeout-[\w.-]*\.tgz/g)].map(([found]) => found);
    expect(new Set(names)).toEqual(new Set([`${name}-${version}.tgz`]));
  });
});
