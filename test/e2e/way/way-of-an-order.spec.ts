import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase } from '../../support/database';
import { createVhost } from '../../support/rabbit-vhost';
import { startProgram } from '../../support/service-process';
import { REPOSITORY } from '../../support/snippets';
import { until } from '../../support/until';
import { environmentOf, KEYS } from '../running-service';

const ORDERS = 7;
/** On a busy machine, the sweep handles some. */
const CLOSED = 5;
/** The handler of the due order. */
const HANDLER = 'orders/close/close-unpaid-orders.ts';
/** Longer than what this process would trigger itself while no message arrives. */
const OPEN_MS = 11_000;

/** Longer than a delivery waits here until it is due. One that arrives meanwhile would go on in the run of the first. */
const APART_MS = 2_600;

interface Way {
  readonly way: 'request' | 'wake-up';
  readonly files: readonly string[];
}

const folder = mkdtempSync(join(tmpdir(), 'order-timeout-way-'));
const wayFile = join(folder, 'ways.jsonl');
let recorded: Way[];

beforeAll(async () => {
  writeFileSync(wayFile, '');
  const [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
  const env = { ...environmentOf(database.url, vhost.url), LOG_LEVEL: 'info', WAY_FILE: wayFile };
  const service = startProgram(['-r', join(__dirname, 'record-way.ts'), join(REPOSITORY, 'src/main.ts')], env);
  try {
    await until(() => /http:\/\/127\.0\.0\.1:\d+/.test(service.output.stdout), 60_000);
    const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(service.output.stdout) ?? [];
    await until(async () => (await (await fetch(`${url}/health/ready`)).text()).includes('"ready"'), 60_000);
    for (let order = 0; order < ORDERS; order++) await placeOne(url, order);
    await until(() => closed() >= CLOSED, OPEN_MS + 15_000).catch(() => undefined);
    recorded = ways();
  } finally {
    service.child.kill('SIGTERM');
    await service.exited;
    await Promise.all([database.drop(), vhost.drop()]);
    rmSync(folder, { recursive: true });
  }
}, 120_000);

const ways = (): Way[] =>
  readFileSync(wayFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Way);

const closed = (): number => ways().filter(({ way, files }) => way === 'wake-up' && files.includes(HANDLER)).length;

/** Places the order that the README places. */
async function placeOne(url: string, order: number): Promise<void> {
  const headers = { 'x-api-key': KEYS.all, 'content-type': 'application/json' };
  const body = JSON.stringify({
    id: `way-${order}`,
    amount: 4_200,
    currency: 'EUR',
    paymentWindowMs: OPEN_MS,
    lines: [],
  });
  const answer = await fetch(`${url}/orders`, { method: 'POST', headers, body });
  expect(answer.status).toBe(201);
  await new Promise((resolve) => setTimeout(resolve, APART_MS));
}

/** What most of these runs have entered: one that met a fault, or came too late, has another way. */
function filesOf(way: Way['way']): string[] {
  const counts = new Map<string, number>();
  // The first composes statements that the others find.
  const [, ...runs] = recorded.filter((run) => run.way === way);
  for (const { files } of runs) {
    const list = files.toSorted().join();
    counts.set(list, (counts.get(list) ?? 0) + 1);
  }
  const [[most] = ['']] = [...counts].sort(([, one], [, other]) => other - one);
  return most.split(',');
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
    expect(files).toEqual(filesOfPage('The way of a due order'));
    expect(files.length).toBeLessThanOrEqual(24);
  });

  it('that is placed passes at most 20 files, which are those that docs/architecture.md names', () => {
    const files = filesOf('request');
    expect(files).toEqual(filesOfPage('The way of a new order'));
    expect(files.length).toBeLessThanOrEqual(20);
  });
});
