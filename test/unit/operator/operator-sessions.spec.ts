import { InvalidOptionsError } from '../../../src/errors';
import { findOperatorKeyProblems, OperatorKeys } from '../../../src/api/http';
import { OperatorSessions, SESSION_MS } from '../../../src/api/http/operator-sessions';
import { apiKeyEntry } from '../../support/servers/service-environment';

const START = 1_800_000_000_000;

function sessionsOf(entry: string, clock: { now(): number } = { now: () => START }): OperatorSessions {
  return new OperatorSessions(new OperatorKeys([entry]), clock);
}

describe('an operator session', () => {
  const entry = apiKeyEntry('jane', 'secret', 'money@shop-1');

  it('is known to every instance with the same keys', () => {
    const { token = '', session } = sessionsOf(entry).begin('secret') ?? {};
    const found = sessionsOf(entry).find(token);
    expect(found).toEqual(session);
    expect(found?.operator).toMatchObject({ name: 'jane', roles: ['read', 'money'] });
    expect(found?.operator.scope.merchants).toEqual(['shop-1']);
    expect(found?.expiresAt).toEqual(new Date(START + SESSION_MS));
  });

  it('ends after twelve hours', () => {
    const { token = '' } = sessionsOf(entry).begin('secret') ?? {};
    const find = (at: number) => sessionsOf(entry, { now: () => at }).find(token);
    expect(find(START + SESSION_MS - 1)).toBeDefined();
    expect(find(START + SESSION_MS)).toBeUndefined();
  });

  it.each([
    ['is changed', apiKeyEntry('jane', 'other', 'money')],
    ['is removed', apiKeyEntry('john', 'secret', 'money')],
  ])('ends when its key %s', (_, later) => {
    const { token = '' } = sessionsOf(entry).begin('secret') ?? {};
    expect(sessionsOf(entry).find(token)).toBeDefined();
    expect(sessionsOf(later).find(token)).toBeUndefined();
  });

  it('loses the roles that its key has lost', () => {
    const { token = '' } = sessionsOf(entry).begin('secret') ?? {};
    expect(sessionsOf(apiKeyEntry('jane', 'secret', 'read')).find(token)?.operator.roles).toEqual(['read']);
  });

  it('has a CSRF token of its own, which says nothing about the cookie', () => {
    const [one, other] = [sessionsOf(entry).begin('secret'), sessionsOf(entry).begin('secret')];
    expect(one?.session.csrf).not.toBe(other?.session.csrf);
    expect(one?.token).not.toContain(one?.session.csrf);
  });

  it('is not begun with the hash of a key', () => {
    expect(sessionsOf(entry).begin(entry.split(':')[1] ?? '')).toBeUndefined();
  });
});

describe('operator keys', () => {
  it('name all that is wrong with them, without their content', () => {
    const entries = ['jane', apiKeyEntry('jane', 'k', 'admin'), apiKeyEntry('joe', 'k', 'read@a b')];
    expect(findOperatorKeyProblems(entries)).toEqual([
      'operator key 1 must have the SHA-256 of the key, 64 hex digits, after its name',
      'operator key 1 has unknown roles; there are read, operate, money, reveal, joined by "+"',
      'operator key 2 has unknown roles; there are read, operate, money, reveal, joined by "+"',
      'operator key 3 must have merchant ids after "@", joined by "+"',
      'operator key name "jane" is used twice',
    ]);
    expect(() => new OperatorKeys(entries)).toThrow(InvalidOptionsError);
  });
});
