import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDatabase } from '../../support/database';
import { createVhost } from '../../support/rabbit-vhost';
import { startProgram } from '../../support/service-process';
import { REPOSITORY } from '../../support/snippets';
import { until } from '../../support/until';
import { environmentOf, KEYS } from '../running-service';

const ORDERS = 4;
/** Longer than what the sweep takes by itself when it is the clock. */
const OPEN_MS = 2_500;

interface Way {
  readonly way: 'request' | 'wake-up';
  readonly files: readonly string[];
}

const folder = mkdtempSync(join(tmpdir(), 'order-timeout-way-'));
const wayFile = join(folder, 'ways.jsonl');
let ways: Way[];

beforeAll(async () => {
  writeFileSync(wayFile, '');
  const [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  const env = { ...environmentOf(database.url, vhost.url), LOG_LEVEL: 'info', WAY_FILE: wayFile };
  const service = startProgram(['-r', join(__dirname, 'record-way.ts'), join(REPOSITORY, 'src/main.ts')], env);
  try {
    await until(() => /http:\/\/127\.0\.0\.1:\d+/.test(service.output.stdout), 60_000);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(service.output.stdout) ?? [];
    await until(async () => (await (await fetch(`${url}/health/ready`)).text()).includes('"ready"'), 60_000);
    for (let order = 0; order < ORDERS; order++) await closeOne(url, order);
    ways = readFileSync(wayFile, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Way);
  } finally {
    service.child.kill('SIGTERM');
    await service.exited;
    await Promise.all([database.drop(), vhost.drop()]);
    rmSync(folder, { recursive: true });
  }
}, 120_000);

/** Places an order, and waits until its deadline has been handled. */
async function closeOne(url: string, order: number): Promise<void> {
  const headers = { 'x-api-key': KEYS.all, 'content-type': 'application/json' };
  const expiresAt = new Date(Date.now() + OPEN_MS).toISOString();
  const body = JSON.stringify({ id: `way-${order}`, currency: 'EUR', amount: 100, lines: [], expiresAt });
  const answer = await fetch(`${url}/orders`, { method: 'POST', headers, body });
  expect(answer.status).toBe(201);
  const seen = (): number => readFileSync(wayFile, 'utf8').split('"wake-up"').length - 1;
  await until(() => seen() > order);
  await sleep(200);
}

/** What ran in each of them: what only some runs have is the work of a loop beside them. */
function filesOf(way: Way['way']): string[] {
  const runs = ways.filter((run) => run.way === way);
  expect(runs).toHaveLength(ORDERS);
  return (runs[0]?.files ?? []).filter((file) => runs.every(({ files }) => files.includes(file)));
}

/** The files that a section of docs/architecture.md links. */
function filesOfPage(title: string): string[] {
  const page = readFileSync(join(REPOSITORY, 'docs/architecture.md'), 'utf8');
  const [, section = ''] = page.split(`### ${title}\n`);
  const [text = ''] = section.split(/\n##/);
  return [...new Set([...text.matchAll(/\]\(\.\.\/src\/([^)]+)\)/g)].map(([, file = '']) => file))].sort();
}

describe('the way of an order', () => {
  it('that is due passes at most 24 files, which are those that docs/architecture.md names', () => {
    const files = filesOf('wake-up');
    expect([...files].sort()).toEqual(filesOfPage('The way of a due order'));
    expect(files.length).toBeLessThanOrEqual(24);
  });

  it('that is placed passes at most 30 files, which are those that docs/architecture.md names', () => {
    const files = filesOf('request');
    expect([...files].sort()).toEqual(filesOfPage('The way of a new order'));
    expect(files.length).toBeLessThanOrEqual(30);
  });
});
