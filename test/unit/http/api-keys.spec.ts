import { createHash } from 'node:crypto';
import { type ExecutionContext } from '@nestjs/common';
import { HttpAdapterHost, Reflector } from '@nestjs/core';
import { InvalidOptionsError } from '../../../src/errors';
import { ApiKeys, CallerGuard, OperatorKeys, OperatorSessions, RateLimits } from '../../../src/api/http';
import { RequireScope } from '../../../src/api/http/caller.guard';

const hash = (key: string): string => createHash('sha256').update(key).digest('hex');
const keys = new ApiKeys([
  `shop:${hash('k1')}:orders:read+orders:write`,
  `stock:${hash('k2')}:inventory:write`,
  `root:${hash('k3').toUpperCase()}:*`,
]);

class Routes {
  @RequireScope('orders:write')
  write(this: void): void {}

  @RequireScope('orders:read', 'inventory:write')
  either(this: void): void {}

  forgotten(this: void): void {}
}

const problem = (code: string): Error => expect.objectContaining({ problem: code }) as Error;

async function enter(route: keyof Routes, headers: Record<string, string | string[]>, using: ApiKeys | 'open' = keys) {
  const request: { headers: typeof headers; orderTimeoutActor?: string } = { headers };
  const context = {
    getClass: () => Routes,
    getHandler: () => Routes.prototype[route],
    switchToHttp: () => ({ getRequest: () => request }),
  } as unknown as ExecutionContext;
  const operators = new OperatorKeys([]);
  const sessions = new OperatorSessions(operators, { now: () => 0 });
  const limits = new RateLimits({ perKey: 1_000 });
  const guard = new CallerGuard(using, operators, sessions, new Reflector(), limits, new HttpAdapterHost());
  const allowed = await guard.canActivate(context);
  return { allowed, actor: request.orderTimeoutActor };
}

describe('API keys', () => {
  it('allow what their scopes permit, in either header', async () => {
    expect(await enter('write', { 'x-api-key': 'k1' })).toEqual({ allowed: true, actor: 'shop' });
    expect(await enter('write', { authorization: 'Bearer k1' })).toEqual({ allowed: true, actor: 'shop' });
    expect(await enter('either', { authorization: 'bearer  k2' })).toEqual({ allowed: true, actor: 'stock' });
    expect(await enter('write', { 'x-api-key': 'k3' })).toEqual({ allowed: true, actor: 'root' });
  });

  it.each<[string, Record<string, string | string[]>]>([
    ['no header', {}],
    ['an empty key', { 'x-api-key': '' }],
    ['another scheme', { authorization: 'Basic azE=' }],
    ['a wrong key', { 'x-api-key': 'k4' }],
    ['the hash instead of the key', { 'x-api-key': hash('k1') }],
    ['two keys', { 'x-api-key': ['k1', 'k1'] }],
  ])('are answered with 401 for %s', async (_, headers) => {
    await expect(enter('write', headers)).rejects.toThrow(problem('UNAUTHORIZED'));
  });

  it('are answered with 403 without the scope', async () => {
    await expect(enter('write', { 'x-api-key': 'k2' })).rejects.toThrow('key "stock" lacks the scope orders:write');
  });

  it('need the scope * for a route without scopes', async () => {
    await expect(enter('forgotten', { 'x-api-key': 'k1' })).rejects.toThrow(problem('FORBIDDEN'));
    expect((await enter('forgotten', { 'x-api-key': 'k3' })).allowed).toBe(true);
  });

  it('are not required if the host protects the routes', async () => {
    expect(await enter('write', {}, 'open')).toEqual({ allowed: true, actor: undefined });
  });

  it('are validated at startup: all invalid ones are reported at once, without their content', () => {
    const bad = ['', 'a b:xyz:*', `ok:${hash('x')}:orders:fly`, `ok:${hash('y')}:*`, `none:${hash('z')}`];
    const error: unknown = (() => {
      try {
        return new ApiKeys(bad);
      } catch (thrown) {
        return thrown;
      }
    })();
    const { problems } = error as InvalidOptionsError;
    expect(error).toBeInstanceOf(InvalidOptionsError);
    for (const part of [
      'API key 1',
      'API key 2',
      'API key 3 has unknown scopes',
      'API key 5',
      'name "ok" is used twice',
    ]) {
      expect(problems.join('; ')).toContain(part);
    }
    expect(problems.join('; ')).not.toContain('xyz');
  });
});
