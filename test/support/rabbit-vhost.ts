import { randomUUID } from 'node:crypto';
import { httpJson } from './shop/http-json';

/** A virtual host of its own on one of the test brokers. */
export interface TestVhost {
  readonly name: string;
  /** AMQP URL into this vhost. */
  readonly url: string;
  /** Calls the management API; `path` starts with a slash and is below `/api`. A text is sent as it is. */
  manage<T>(method: 'GET' | 'PUT' | 'DELETE' | 'POST', path: string, body?: unknown): Promise<T>;
  /** Deletes everything in it, connections included: what a client sees of a broker whose data are gone. */
  empty(): Promise<void>;
  drop(): Promise<void>;
}

interface Broker {
  readonly amqpUrl: string;
  readonly managementUrl: string;
}

/**
 * Makes a vhost on the plain broker, or on the one that knows the exchange type x-delayed-message. Where they are
 * comes from the environment that global-setup prepared.
 */
export function createVhost(profile: 'plain' | 'plugin' = 'plain'): Promise<TestVhost> {
  const prefix = profile === 'plain' ? 'RABBITMQ' : 'RABBITMQ_PLUGIN';
  return createVhostOn({
    amqpUrl: required(`${prefix}_URLS`).split(',')[0] ?? '',
    managementUrl: required(`${prefix}_MANAGEMENT_URL`),
  });
}

/** Makes a vhost on any broker, e.g. a private one. */
export async function createVhostOn(broker: Broker): Promise<TestVhost> {
  const name = `test-${randomUUID()}`;
  const manage = managementOf(broker);
  const user = decodeURIComponent(new URL(broker.amqpUrl).username) || 'guest';
  const create = async (): Promise<void> => {
    const everything = { configure: '.*', write: '.*', read: '.*' };
    await manage('PUT', `/vhosts/${name}`);
    await manage('PUT', `/permissions/${name}/${encodeURIComponent(user)}`, everything);
  };
  const drop = (): Promise<void> => manage('DELETE', `/vhosts/${name}`);
  await create();
  const url = new URL(broker.amqpUrl);
  url.pathname = `/${name}`;
  return { name, url: url.href, manage, drop, empty: async () => (await drop(), create()) };
}

function managementOf(broker: Broker): TestVhost['manage'] {
  const url = new URL(broker.managementUrl);
  const { username, password } = url.username ? url : new URL(broker.amqpUrl);
  const login = `${decodeURIComponent(username) || 'guest'}:${decodeURIComponent(password) || 'guest'}`;
  const headers = { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
  return async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const { status, text } = await httpJson(method, `${url.origin}/api${path}`, body, headers);
    if (status >= 400) throw new Error(`${method} /api${path}: ${status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; run the tests with npm test, or start the brokers first`);
  return value;
}
