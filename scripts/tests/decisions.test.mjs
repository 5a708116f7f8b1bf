import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { isInstalled } from '../setup/build.mjs';
import { assertNode } from '../setup/main.mjs';
import { parseStat } from '../setup/processes.mjs';
import { describeError, SetupError } from '../setup/errors.mjs';
import {
  brokerForDemo,
  brokerForService,
  chooseSource,
  endpointOf,
  environmentFor,
  explainChoice,
  managementUrlOf,
  withoutBroker,
} from '../stack/servers.mjs';
import { repository } from '../setup/paths.mjs';
import { environmentOf } from '../stack/docker-stack.mjs';
import { blockSize, candidateBlocks, chooseServerUser, isPlainPath } from '../stack/place.mjs';
import { newPackages } from '../stack/debian-packages.mjs';
import { brokerPackages } from '../stack/rabbitmq.mjs';
import { hidePassword } from '../stack/status.mjs';

const nothing = { value: '', hasDocker: false, mayBeAbsent: false };
const postgres = { ...nothing, variable: 'DATABASE_URL', platform: 'linux', isBroker: false };
const broker = { ...nothing, variable: 'RABBITMQ_URLS', platform: 'linux', isBroker: true };

test('a server comes from the environment, else from Docker, else is private', () => {
  for (const server of [postgres, broker]) {
    assert.equal(chooseSource({ ...server, value: 'protocol://host', hasDocker: true }), 'given');
    assert.equal(chooseSource({ ...server, hasDocker: true }), 'docker');
    assert.equal(chooseSource(server), 'private');
  }
});

for (const platform of ['darwin', 'win32']) {
  test(`without Docker on ${platform}, PostgreSQL is private, and the demo runs without a broker`, () => {
    assert.equal(chooseSource({ ...postgres, platform }), 'private');
    assert.equal(chooseSource({ ...broker, platform, mayBeAbsent: true }), 'none');
  });
}

test('where a broker is needed and cannot be had, the error says what to install or set', () => {
  assert.throws(
    () => chooseSource({ ...broker, platform: 'darwin' }),
    (error) => /Docker/.test(describeError(error)) && /set RABBITMQ_URLS/.test(describeError(error)),
  );
});

test('RABBITMQ_URLS=none keeps a broker from being looked for, and is refused where one is needed', () => {
  const refused = { ...broker, value: 'none', hasDocker: true };
  assert.equal(chooseSource({ ...refused, mayBeAbsent: true }), 'none');
  assert.throws(() => chooseSource(refused), { code: 'SETUP/BROKER_NEEDED' });
  assert.match(withoutBroker('RABBITMQ_URLS is "none"'), /^RabbitMQ: none, because .* PostgreSQL alone .* off\.$/);
});

test('the choice is explained in one sentence', () => {
  const sentence = explainChoice('private', ['RabbitMQ', 'PostgreSQL'], ['RABBITMQ_URLS', 'DATABASE_URL']);
  assert.match(
    sentence,
    /^RabbitMQ and PostgreSQL: private .* because RABBITMQ_URLS and DATABASE_URL are not set .*\.$/,
  );
});

test('the demo gets the plugin for the transports that need or look for it', () => {
  const isGiven = false;
  assert.equal(brokerForDemo(['--transport', 'auto'], { isGiven }), 'rabbitmq-plugin');
  assert.equal(brokerForDemo(['--transport=delayed-exchange'], { isGiven }), 'rabbitmq-plugin');
  assert.equal(brokerForDemo(['--transport', 'ladder'], { isGiven }), 'rabbitmq-plain');
  assert.equal(brokerForDemo([], { isGiven }), 'rabbitmq-plain');
  assert.equal(brokerForDemo(['--transport', 'auto'], { isGiven: true }), 'rabbitmq-plain');
});

test('the service never gets the stand-in of the plugin', () => {
  assert.equal(brokerForService({ isGiven: false, hasDocker: false }), 'rabbitmq-plain');
  assert.equal(brokerForService({ isGiven: false, hasDocker: true }), 'rabbitmq-plugin');
});

test('ports are the same for the same clone, in whole blocks, and never ephemeral ones', () => {
  const blocks = candidateBlocks('/some/clone', [25_000, 60_999]);
  assert.deepEqual(blocks, candidateBlocks('/some/clone', [25_000, 60_999]));
  assert.notEqual(blocks[0], candidateBlocks('/another/clone', [25_000, 60_999])[0]);
  assert.ok(blocks.every((base) => base >= 20_000 && base + blockSize <= 25_000 && base % blockSize === 0));
});

test('root gives servers to the owner of the clone, or to nobody', () => {
  assert.equal(chooseServerUser({ uid: 1000, ownerUid: 1000, ownerGid: 1000 }), undefined);
  assert.deepEqual(chooseServerUser({ uid: 0, ownerUid: 1000, ownerGid: 100 }), { uid: 1000, gid: 100 });
  assert.deepEqual(chooseServerUser({ uid: 0, ownerUid: 0, ownerGid: 0 }), { uid: 65_534, gid: 65_534 });
});

test('a path that the scripts of RabbitMQ would tear apart is not used', () => {
  assert.ok(isPlainPath('/home/dev/order-timeout_2/.stack'));
  assert.ok(!isPlainPath('/home/dev/my projects'));
  assert.ok(!isPlainPath(`/${'x'.repeat(200)}`));
});

test('an install counts when node_modules holds what the lock file says', () => {
  const wanted = { packages: { '': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { optional: true } } };
  assert.ok(isInstalled(wanted, { packages: { 'node_modules/a': { version: '1.0.0' } } }));
  assert.ok(!isInstalled(wanted, { packages: { 'node_modules/a': { version: '1.0.1' } } }));
  assert.ok(!isInstalled(wanted, undefined));
  const workspace = { 'packages/c': { version: '1.0.0' }, 'node_modules/c': { link: true } };
  assert.ok(isInstalled({ packages: workspace }, { packages: {} }));
});

test('of what apt would do, new packages count and upgrades do not', () => {
  const output = 'Inst erlang-base (1:25 Debian:12 [amd64])\nInst libc6 [2.36] (2.37 x)\nConf erlang-base (1:25 x)\n';
  assert.deepEqual(newPackages(output), ['erlang-base']);
  assert.deepEqual(brokerPackages(['adduser', 'erlang-base', 'rabbitmq-server']), ['erlang-base', 'rabbitmq-server']);
});

test('start time and parent are read although the name of the program may hold anything', () => {
  const fields = ['S', '7', ...Array.from({ length: 17 }, () => '0'), '4242', '0'];
  assert.deepEqual(parseStat(`12 (a) b (c) ${fields.join(' ')}`), { state: 'S', parent: 7, startTime: '4242' });
});

test('URLs: usual ports, management API, hidden passwords', () => {
  assert.deepEqual(endpointOf('amqps://broker.example'), { host: 'broker.example', port: 5671 });
  assert.deepEqual(endpointOf('postgresql://u:p@[::1]:6000/d'), { host: '::1', port: 6000 });
  assert.equal(managementUrlOf('amqp://u:p@broker.example,amqp://other'), 'http://u:p@broker.example:15672');
  assert.equal(hidePassword('amqp://user:secret@127.0.0.1:1'), 'amqp://user:***@127.0.0.1:1');
});

test('the environment has the plain broker first, and the one with the plugin beside it', () => {
  const plain = { url: 'amqp://plain', managementUrl: 'http://plain' };
  const plugin = { url: 'amqp://plugin', managementUrl: 'http://plugin', delayedExchange: 'stand-in' };
  const both = environmentFor({ postgres: { url: 'pg' }, 'rabbitmq-plain': plain, 'rabbitmq-plugin': plugin });
  assert.equal(both.RABBITMQ_URLS, 'amqp://plain');
  assert.equal(both.RABBITMQ_PLUGIN_URLS, 'amqp://plugin');
  assert.equal(both.DELAYED_EXCHANGE, 'stand-in');
  assert.equal(environmentFor({ 'rabbitmq-plugin': plugin }).RABBITMQ_URLS, 'amqp://plugin');
  assert.equal(environmentFor({ 'rabbitmq-plain': plain }).DELAYED_EXCHANGE, undefined);
});

test('what docker compose knows of a service that is not there is nothing', () => {
  assert.deepEqual(environmentOf({ services: {} }, 'postgres'), {});
});

// api.mjs runs within npm test, which has installed them.
for (const script of readdirSync(join(repository, 'scripts')).filter((name) => /^(?!api).*\.mjs$/.test(name))) {
  test(`${script} needs no package before it has installed them`, () => {
    const seen = new Set();
    const look = (/** @type {string} */ path) => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(/^(?:import|export|\}) .*from '([^']+)';$/gm)) {
        assert.match(name, /^(node:|\.)/, `${relative(repository, path)} imports ${name}`);
        if (name.startsWith('.')) look(join(dirname(path), name));
      }
    };
    look(join(repository, 'scripts', script));
    assert.ok(seen.size > 1);
  });
}

test('an old Node is told so', () => {
  assert.doesNotThrow(() => assertNode('20.19.0'));
  assert.doesNotThrow(() => assertNode('24.0.0'));
  assert.throws(() => assertNode('20.18.1'), SetupError);
});
