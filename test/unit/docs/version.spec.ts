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
    expect([lock.version, lock.packages['']?.version]).toEqual([version, version]);
  });

  it('is in the name of the packed file that the tutorial installs', () => {
    const names = [...read('docs/getting-started.md').matchAll(/nestjs-order-timeout-\d[\w.-]*\.tgz/g)].map(
      ([name]) => name,
    );
    expect(new Set(names)).toEqual(new Set([`nestjs-order-timeout-${version}.tgz`]));
  });
});
