import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokerDefinitions } from '../../../packages/contract/src/broker-definitions';
import { TopologyNames } from '../../../src/rabbit/topology';

const file = join(__dirname, '../../../rabbit/definitions.template.json');

describe('the definitions that the broker image imports', () => {
  it('match the source (npm run contract -- --update writes them)', () => {
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(brokerDefinitions());
  });

  it.each([
    ['service', 'configure', 'order-timeout.v1.work.order.payment', true],
    ['service', 'configure', 'somebody.else', false],
    ['service', 'read', 'order-timeout-v1x', false],
    ['service', 'write', 'amq.default', true],
    ['service', 'write', 'amq.topic', false],
    ['sender', 'write', 'amq.default', false],
    ['sender', 'write', 'order-timeout.v1.commands', true],
    ['sender', 'write', 'order-timeout.v1.events', false],
    ['sender', 'read', 'order-timeout.v1.commands', false],
    ['listener', 'read', 'order-timeout.v1.events', true],
    ['listener', 'read', 'order-timeout.v1.commands', false],
    ['listener', 'configure', 'listener.mailer', true],
    ['listener', 'write', 'order-timeout.v1.commands', false],
  ] as const)('let %s %s %s: %s', (user, right, name, isAllowed) => {
    const permission = brokerDefinitions().permissions.find((candidate) => candidate.user === user);
    expect(new RegExp(permission?.[right] ?? '').test(name)).toBe(isAllowed);
  });

  it('follow the prefix', () => {
    const definitions = brokerDefinitions(new TopologyNames('shop.v2'));
    expect(definitions.exchanges.map(({ name }) => name)).toEqual(['shop.v2.events', 'shop.v2.commands']);
  });
});
