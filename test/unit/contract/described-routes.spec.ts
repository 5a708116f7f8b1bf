import { VERSION_NEUTRAL } from '@nestjs/common';
import { type DataSource } from 'typeorm';
import { type z } from 'zod';
import { OperationsModule, OrderTimeoutModule } from '../../../src';
import { ANSWERS, COMMANDS, REQUESTS } from '../../../packages/contract/src/messages';
import { type Messages } from '../../../packages/contract/src/events';
import { type Operation } from '../../../packages/contract/src/order-operations';
import { OPERATIONS } from '../../../packages/contract/src/operations';

type Class = abstract new (...args: never[]) => object;

interface Route {
  readonly route: string;
  readonly scopes: readonly string[] | undefined;
  readonly status: number;
  readonly body: z.ZodType | undefined;
  readonly query: z.ZodType | undefined;
}

// How Nest numbers what a parameter takes.
const BODY = 3;
const QUERY = 4;
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];

/** What the decorators of a method say. */
function metadata<T>(key: string, target: object, property?: string): T | undefined {
  const found: unknown =
    property === undefined ? Reflect.getMetadata(key, target) : Reflect.getMetadata(key, target, property);
  return found as T | undefined;
}

/** The schema that validates a parameter. */
function schemaOf(controller: Class, name: string, place: number): z.ZodType | undefined {
  const args = metadata<Record<string, { pipes: { schema?: z.ZodType }[] }>>('__routeArguments__', controller, name);
  const [, found] = Object.entries(args ?? {}).find(([key]) => key.startsWith(`${place}:`)) ?? [];
  return found?.pipes[0]?.schema;
}

const methodsOf = (controller: Class): (readonly [string, object])[] =>
  Object.getOwnPropertyNames(controller.prototype)
    .filter((name) => name !== 'constructor')
    .map((name) => [name, (controller.prototype as Record<string, unknown>)[name]] as const)
    .filter((one): one is readonly [string, object] => typeof one[1] === 'function');

function routesOf(controller: Class): Route[] {
  const base = metadata<string>('path', controller) ?? '';
  return methodsOf(controller).flatMap(([name, method]) => {
    const path = metadata<string>('path', method);
    if (path === undefined) return [];
    const verb = METHODS[metadata<number>('method', method) ?? 0] ?? '';
    const parts = [base, path].flatMap((part) => part.split('/')).filter((part) => part !== '');
    return {
      route: `${verb} /${parts.join('/')}`,
      scopes: metadata<readonly string[]>('order-timeout:scopes', method),
      status: metadata<number>('__httpCode__', method) ?? (verb === 'POST' ? 201 : 200),
      body: schemaOf(controller, name, BODY),
      query: schemaOf(controller, name, QUERY),
    };
  });
}

function controllers(): Class[] {
  const { controllers: own = [] } = OrderTimeoutModule.forRoot({
    http: true,
    contract: true,
    dataSource: {} as DataSource,
    rabbit: { urls: [] },
  });
  return [...own, ...(metadata<Class[]>('controllers', OperationsModule) ?? [])];
}

/** The controllers with routes. */
const served = controllers().filter((controller) => routesOf(controller).length > 0);
const routes = served.flatMap(routesOf);
/** Answered by hand, in the way that the provider expects. */
const BY_HAND = 'POST /payments/:provider/notify';

describe('the OpenAPI document', () => {
  it('describes every route, and no other', () => {
    expect(Object.keys(OPERATIONS).sort()).toEqual(routes.map(({ route }) => route).sort());
  });

  it.each(routes.map((one) => [one.route, one] as const))('says of %s what its method says', (route, found) => {
    const { scopes, body, query, answers } = OPERATIONS[route] as Operation;
    expect({ scopes, query }).toEqual({ scopes: found.scopes, query: found.query });
    if (route === BY_HAND) return;
    // The very same schema validates.
    expect(body === found.body).toBe(true);
    expect(Object.keys(answers)).toContain(String(found.status));
  });

  it.each(served.map((controller) => [controller.name, controller] as const))(
    'is true of %s in a host that versions its routes',
    (_, controller) => expect(metadata('__version__', controller)).toBe(VERSION_NEUTRAL),
  );

  it('gives each operation a name of its own', () => {
    const ids = Object.values(OPERATIONS).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the AsyncAPI document', () => {
  const handlers = controllers().flatMap((controller) =>
    methodsOf(controller).flatMap(([name, method]) =>
      (metadata<string[]>('microservices:pattern', method) ?? []).map(
        (pattern) => [pattern, name, controller] as const,
      ),
    ),
  );
  const described: Messages = { ...COMMANDS, ...REQUESTS };

  it('describes every command and request, and no other, and the answer to each', () => {
    const patterns = handlers.map(([pattern]) => pattern).sort();
    expect(Object.keys(described).sort()).toEqual(patterns);
    expect(Object.keys(ANSWERS).sort()).toEqual(patterns);
  });

  // That of an order validates within its handler, which reports what it refuses.
  it.each(handlers.filter(([pattern]) => pattern !== 'order.placed'))(
    'has the schema that validates %s',
    (pattern, name, controller) => {
      expect(described[pattern]?.schema === schemaOf(controller, name, BODY)).toBe(true);
    },
  );
});
