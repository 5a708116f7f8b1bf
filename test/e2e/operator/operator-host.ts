import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type INestApplication } from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import request from 'supertest';
import { OrderTimeoutModule, type OrderTimeoutOptions } from '../../../src';
import { OperatorFiles } from '../../../src/api/operator/operator-page.controller';
import { apiKeyEntry } from '../../support/servers/service-environment';
import { createDatabase, type TestDatabase } from '../../support/database';
import { blankProvider } from '../blank-provider';
import { type AdapterName } from '../open-host';
import { type Call, type Method } from '../running-service';

/** Keys by the roles that they have. */
export const KEYS = {
  reader: 'key-of-reader',
  operator: 'key-of-operator',
  cashier: 'key-of-cashier',
  revealer: 'key-of-revealer',
  all: 'key-of-everything',
  ofA: 'key-of-merchant-a',
};

export const OPERATOR_KEYS = [
  apiKeyEntry('reader', KEYS.reader, 'read'),
  apiKeyEntry('operator', KEYS.operator, 'operate'),
  apiKeyEntry('cashier', KEYS.cashier, 'money'),
  apiKeyEntry('revealer', KEYS.revealer, 'reveal'),
  apiKeyEntry('boss', KEYS.all, 'operate+money+reveal'),
  apiKeyEntry('of-a', KEYS.ofA, 'operate+money+reveal@a'),
];

/** The files of a built page. */
export const PAGE = {
  'index.html': '<!doctype html><title>orders</title><script type="module" src="./app-1a2b3c4d.js"></script>',
  'app-1a2b3c4d.js': `console.log("${'orders '.repeat(50)}")`,
};

type Headers = Readonly<Record<string, string>>;

/** Somebody who is signed in. */
export interface SignedIn {
  readonly cookie: string;
  readonly csrf: string;
  get(path: string): Call;
  /** With the session's CSRF token, unless other headers are given. */
  post(path: string, body?: object, headers?: Headers): Call;
}

/** An application with the operator page. */
export interface OperatorHost {
  readonly app: INestApplication;
  readonly database: TestDatabase;
  send(method: Method, path: string, body?: object, headers?: Headers): Call;
  signIn(key: string): Promise<SignedIn>;
  close(): Promise<void>;
}

interface HostPlan {
  readonly adapter?: AdapterName;
  readonly options?: Partial<OrderTimeoutOptions>;
  /** Path in front of the routes. */
  readonly path?: string;
  /** Dropped at the end. @default one of its own */
  readonly database?: TestDatabase;
}

/** Starts an application without a broker, on a database and with page files of its own. */
export async function openOperatorHost({
  adapter = 'express',
  options,
  path = '',
  ...given
}: HostPlan = {}): Promise<OperatorHost> {
  const database = given.database ?? (await createDatabase());
  const directory = mkdtempSync(join(tmpdir(), 'operator-page-'));
  for (const [name, content] of Object.entries(PAGE)) writeFileSync(join(directory, name), content);
  const module = OrderTimeoutModule.forRoot({
    ...{ dataSource: database.dataSource, transport: 'none', providers: [blankProvider], path },
    ...{ operator: true, operatorKeys: OPERATOR_KEYS, ...options },
  });
  const built = await Test.createTestingModule({ imports: [module] })
    .overrideProvider(OperatorFiles)
    .useValue(new OperatorFiles(directory))
    .compile();
  const app = adapter === 'express' ? built.createNestApplication() : built.createNestApplication(new FastifyAdapter());
  app.useLogger(process.env.TEST_LOGS ? ['error', 'warn', 'log'] : false);
  await app.listen(0, '127.0.0.1');
  const send = senderTo(app);
  const base = path === '' ? '' : `/${path}`;
  return {
    ...{ app, database, send },
    signIn: (key) => signIn(send, `${base}/operator/api`, key),
    close: async () => {
      await app.close();
      await database.drop();
      rmSync(directory, { recursive: true });
    },
  };
}

function senderTo(app: INestApplication): OperatorHost['send'] {
  return (method, path, body, headers = {}) => {
    const sent = request(app.getHttpServer() as Server)[method](path);
    for (const [name, value] of Object.entries(headers)) void sent.set(name, value);
    return body === undefined ? sent : sent.send(body);
  };
}

/** @param api path of the page's API. */
async function signIn(send: OperatorHost['send'], api: string, key: string): Promise<SignedIn> {
  const { headers, body } = await send('post', `${api}/session`, { key }).expect(200);
  const cookie = String(headers['set-cookie']).split(';')[0] ?? '';
  const csrf = String(body['csrf']);
  return {
    ...{ cookie, csrf },
    get: (path) => send('get', `${api}/${path}`, undefined, { cookie }),
    post: (path, body = {}, headers = { 'x-csrf-token': csrf }) =>
      send('post', `${api}/${path}`, body, { cookie, ...headers }),
  };
}
