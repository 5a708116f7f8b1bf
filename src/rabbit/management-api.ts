import { unescape } from 'node:querystring';
import { z } from 'zod';

/** The management plugin did not answer a request. The message never contains the password. */
export class ManagementError extends Error {}

const LIMIT_MS = 5_000;
/** The plugin's usual port. */
const PORT = 15_672;

const policyDefinition = z.record(z.string(), z.unknown());
const queues = z.array(
  z.object({
    name: z.string(),
    messages: z.number().default(0),
    messages_dlx: z.number().optional(),
    consumers: z.number().default(0),
    /** Of a quorum queue; null: it has none, so it does not serve. */
    leader: z.string().nullish(),
    policy: z.string().nullish(),
    effective_policy_definition: z.union([policyDefinition, z.array(z.never())]).nullish(),
  }),
);
const exchanges = z.array(z.object({ name: z.string(), policy: z.string().nullish() }));
const policies = z.array(z.object({ name: z.string(), definition: policyDefinition }));
const bindings = z.array(z.object({ destination: z.string(), destination_type: z.string() }));
/** Empty lists where the plugin does not know it yet. */
const consumers = z.array(
  z.object({
    queue: z.object({ name: z.string() }),
    channel_details: z.union([z.object({ connection_name: z.string().optional() }), z.array(z.never())]),
  }),
);
const connections = z.array(
  z.object({
    name: z.string(),
    peer_host: z.string().optional(),
    client_properties: z
      .union([z.object({ release: z.string().optional(), connection_name: z.string().optional() }), z.array(z.never())])
      .optional(),
  }),
);
const nodes = z.array(
  z.object({
    name: z.string(),
    mem_alarm: z.boolean().default(false),
    disk_free_alarm: z.boolean().default(false),
  }),
);

/** How the name of each consuming connection of an instance ends, whatever the host has called it: RabbitConnection. */
const CONSUMING = ':consume';

export type ListedQueue = z.output<typeof queues>[number];

/** Reads from the HTTP API of RabbitMQ's management plugin. Every method throws ManagementError if it may not, or cannot. */
export class ManagementApi {
  private readonly base: string;
  private readonly authorization: string;
  private readonly vhost: string;

  /**
   * @param amqpUrl names the vhost, and the login unless `managementUrl` has one
   * @param managementUrl for example `http://host:15672`; undefined: the host of `amqpUrl`, on the plugin's usual port
   * @throws ManagementError if it is no HTTP URL
   */
  constructor(amqpUrl: string, managementUrl?: string) {
    const amqp = new URL(amqpUrl);
    const address = managementUrl ?? `http://${amqp.hostname}:${PORT}`;
    // Not repeated, because it may contain a password.
    if (!/^https?:/i.test(address) || !URL.canParse(address))
      throw new ManagementError('the address of the management API is no HTTP URL; write it like http://broker:15672');
    const url = new URL(address);
    const { username, password } = url.username === '' ? amqp : url;
    const login = [username || 'guest', password || 'guest'].map(unescape).join(':');
    this.authorization = `Basic ${Buffer.from(login).toString('base64')}`;
    url.username = url.password = '';
    this.base = url.href.replace(/\/$/, '');
    this.vhost = amqp.pathname.slice(1) || '%2F';
  }

  get address(): string {
    return this.base;
  }

  queues(): Promise<ListedQueue[]> {
    const columns = 'name,messages,messages_dlx,consumers,leader,policy,effective_policy_definition';
    return this.get(`queues/${this.vhost}?columns=${columns}`, queues);
  }

  exchanges(): Promise<z.output<typeof exchanges>> {
    return this.get(`exchanges/${this.vhost}?columns=name,policy`, exchanges);
  }

  policies(): Promise<z.output<typeof policies>> {
    return this.get(`policies/${this.vhost}`, policies);
  }

  /** The queues that an exchange leads to. */
  async queuesBehind(exchange: string): Promise<string[]> {
    const found = await this.get(`exchanges/${this.vhost}/${encodeURIComponent(exchange)}/bindings/source`, bindings);
    const names = found.filter(({ destination_type }) => destination_type === 'queue').map((each) => each.destination);
    return [...new Set(names)];
  }

  /**
   * Which instances consume a queue whose name is `wanted`: the address, and the release if it tells one. Each connection
   * once. Another program may consume it too, and is told apart by the name of its connection.
   */
  async instancesOn(
    wanted: (queue: string) => boolean,
  ): Promise<{ readonly host: string; readonly release?: string }[]> {
    const consuming = await this.get(`consumers/${this.vhost}`, consumers);
    const names = consuming
      .filter(({ queue }) => wanted(queue.name))
      .map(({ channel_details: details }) => ('connection_name' in details ? details.connection_name : undefined));
    const all = await this.get(
      `vhosts/${this.vhost}/connections?columns=name,peer_host,client_properties`,
      connections,
    );
    return all.flatMap(({ name, peer_host: host = 'unknown', client_properties: properties }) => {
      if (!names.includes(name) || properties === undefined || Array.isArray(properties)) return [];
      const { release, connection_name: told = '' } = properties;
      if (release === undefined && !told.endsWith(CONSUMING)) return [];
      return [{ host, ...(release === undefined ? {} : { release }) }];
    });
  }

  nodes(): Promise<z.output<typeof nodes>> {
    return this.get('nodes?columns=name,mem_alarm,disk_free_alarm', nodes);
  }

  private async get<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T>> {
    const { authorization } = this;
    const request = { headers: { authorization }, signal: AbortSignal.timeout(LIMIT_MS) };
    const response = await fetch(`${this.base}/api/${path}`, request).catch((error: unknown) => {
      throw new ManagementError(`the management API at ${this.base} does not answer (${reasonOf(error)})`);
    });
    const body: unknown = await response.json().catch(() => undefined);
    if (!response.ok) {
      throw new ManagementError(`the management API at ${this.base} refuses /api/${path} (${response.status})`);
    }
    const parsed = schema.safeParse(body);
    if (!parsed.success) throw new ManagementError(`the management API at ${this.base} answers with another format`);
    return parsed.data;
  }
}

/** `fetch failed` alone says nothing; its cause has the reason. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || String((cause as { code?: unknown }).code) : String(cause);
}
