// What runs on GitHub.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { installations } from '../../test/hosts/installations.mjs';
import { repository } from '../setup/paths.mjs';

/** @typedef {{ node: string, postgres: string, rabbitmq: string, hosts: string }} Cell */

const text = readFileSync(join(repository, '.github', 'workflows', 'ci.yml'), 'utf8');
/** @type {unknown} */
const workflow = parse(text);
const { jobs } = /** @type {{ jobs: { cell: { strategy: { matrix: { include: Cell[] } } } } }} */ (workflow);
const cells = jobs.cell.strategy.matrix.include;
const hostsOf = (/** @type {Cell} */ { hosts }) =>
  hosts.split(',').map((name) => installations.find((one) => one.name === name) ?? assert.fail(`no host ${name}`));

test('the cells hold every pair of the oldest and the newest Node.js, PostgreSQL, RabbitMQ, and NestJS', () => {
  const rows = cells.map((cell) => {
    const [nest] = hostsOf(cell).map((host) => /\d+/.exec(host.nest)?.[0]);
    return [cell.node, cell.postgres, cell.rabbitmq, nest];
  });
  for (const first of [0, 1, 2])
    for (const second of [1, 2, 3].filter((index) => index > first)) {
      const pairs = new Set(rows.map((row) => `${row[first]} with ${row[second]}`));
      const levels = [first, second].map((index) => new Set(rows.map((row) => row[index])).size);
      assert.deepEqual(levels, [2, 2]);
      assert.equal(pairs.size, 4, [...pairs].join(', '));
    }
});

test('each host is in a cell, with others of the same NestJS only', () => {
  const names = new Set(cells.flatMap((cell) => hostsOf(cell).map(({ name }) => name)));
  assert.deepEqual([...names].sort(), installations.map(({ name }) => name).sort());
  for (const cell of cells) assert.equal(new Set(hostsOf(cell).map(({ nest }) => nest)).size, 1, cell.hosts);
});
