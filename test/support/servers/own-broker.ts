import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { evalOnBroker } from './broker-eval';
import { OwnServer, SERVER } from './own-server';

/** What a healthy broker of the campaign has: rabbitmq-server.mjs. */
const NORMAL_BYTES = 209_715_200;
const NORMAL_MEMORY_BYTES = 1_073_741_824;
/** More than any disk has. */
const IMPOSSIBLE_BYTES = 10 ** 18;

/** Of a user of the broker. */
export interface Login {
  readonly username: string;
  readonly password: string;
}

interface BrokerPlan {
  /** `plugin`: with the delayed message exchange. */
  readonly profile: 'plain' | 'plugin';
  /** Of its data; one that is removed at the end by default. */
  readonly directory?: string;
  /** Bytes. */
  readonly maxMessageSize?: number;
  /** Of its metrics; without it there are none. */
  readonly prometheusPort?: number;
}

/** A broker of a run's own, and an operator at its machine; the ports stay the same. */
export class OwnBroker extends OwnServer {
  private evaluating: Promise<unknown> = Promise.resolve();
  private isTemporary = false;

  private constructor(
    private readonly directory: string,
    args: readonly string[],
  ) {
    super(SERVER, ['rabbitmq', '--directory', directory, ...args]);
  }

  /** Takes 5 to 10 s. */
  static async open(plan: BrokerPlan): Promise<OwnBroker> {
    const { profile, directory, maxMessageSize, prometheusPort } = plan;
    const limit = maxMessageSize === undefined ? [] : ['--max-message-size', String(maxMessageSize)];
    const metrics = prometheusPort === undefined ? [] : ['--prometheus-port', String(prometheusPort)];
    const place = directory ?? mkdtempSync(join(tmpdir(), 'throw-away-broker-'));
    const broker = new OwnBroker(place, ['--profile', profile, ...limit, ...metrics]);
    if (directory === undefined) broker.isTemporary = true;
    return broker.ready();
  }

  get amqpUrl(): string {
    return this.text('amqpUrl');
  }

  get managementUrl(): string {
    return this.text('managementUrl');
  }

  /** With the profile `plugin`: the `genuine` plugin, or our in-memory `stand-in`. */
  get delayedExchange(): string | undefined {
    return this.told('delayedExchange') as string | undefined;
  }

  /** Orderly stop and start. */
  restart(): Promise<void> {
    return this.tell('restart');
  }

  /** It answers nothing any more, and its sockets stay open; until `thaw`. */
  freeze(): void {
    process.kill(Number(this.told('pid')), 'SIGSTOP');
  }

  thaw(): void {
    process.kill(Number(this.told('pid')), 'SIGCONT');
  }

  override async close(): Promise<void> {
    await super.close();
    if (this.isTemporary) rmSync(this.directory, { recursive: true, force: true, maxRetries: 3 });
  }

  /** For channels that are opened from now on. */
  async limitMessages(bytes: number): Promise<void> {
    // Up to 3.12 a channel reads the first, later the second.
    await this.eval(
      `application:set_env(rabbit, max_message_size, ${bytes}), persistent_term:put(max_message_size, ${bytes}).`,
    );
  }

  async fillDisk(): Promise<void> {
    await this.setDiskLimit(IMPOSSIBLE_BYTES);
  }

  async freeDisk(): Promise<void> {
    await this.setDiskLimit(NORMAL_BYTES);
  }

  async fillMemory(): Promise<void> {
    await this.setMemoryLimit(1);
  }

  async freeMemory(): Promise<void> {
    await this.setMemoryLimit(NORMAL_MEMORY_BYTES);
  }

  /** A user that may do everything in the virtual host. */
  async addUser({ username, password }: Login): Promise<void> {
    await this.eval(`rabbit_auth_backend_internal:add_user(<<"${username}">>, <<"${password}">>, <<"campaign">>).`);
    await this.permit(username, '.*');
  }

  /** @param pattern what the user may configure, write, and read; empty: nothing. */
  async permit(username: string, pattern: string): Promise<void> {
    const rights = Array.from({ length: 3 }, () => `<<"${pattern}">>`).join(', ');
    await this.eval(
      `ok = rabbit_auth_backend_internal:set_permissions(<<"${username}">>, <<"/">>, ${rights}, <<"campaign">>).`,
    );
  }

  /** Deletes the virtual host with all that is in it, which ends its connections, and makes a new one. */
  async replaceVhost(users: readonly string[]): Promise<void> {
    await this.eval('rabbit_vhost:delete(<<"/">>, <<"campaign">>), rabbit_vhost:add(<<"/">>, <<"campaign">>).');
    for (const user of users) await this.permit(user, '.*');
  }

  /** The queue's process answers nobody; its messages stay. @returns whether there is such a queue, with a process. */
  async suspendQueue(name: string): Promise<boolean> {
    const isSuspended = (await this.onQueue(name, 'catch sys:suspend(Pid)')) === 'ok';
    // A process that was too busy to confirm it in 5 s will be suspended.
    if (!isSuspended) await this.resumeQueue(name);
    return isSuspended;
  }

  async resumeQueue(name: string): Promise<void> {
    // A queue that was deleted or restarted meanwhile has no such process any more.
    await this.onQueue(name, 'catch sys:resume(Pid)');
  }

  /** Ends the process of a quorum queue, as a crash of the broker at a bad moment does. @returns whether there is one */
  async stopQueue(name: string): Promise<boolean> {
    return (await this.onQueue(name, 'catch ra:stop_server(quorum_queues, Pid)')) === 'ok';
  }

  /** @returns whether it runs, or was deleted meanwhile */
  async startQueue(name: string): Promise<boolean> {
    const answer = await this.onQueue(name, 'catch ra:restart_server(quorum_queues, Pid)');
    return /^(ok|none)$|already_started/.test(answer);
  }

  /** Whether the queue has a leader, which a quorum queue may be without for good; one that is not there counts as well. */
  async serves(name: string): Promise<boolean> {
    const hasLeader = `case amqqueue:get_type(Queue) of
        rabbit_quorum_queue -> ok == element(1, catch ra:members(Pid, 2000));
        _ -> true
      end`;
    return (await this.onQueue(name, hasLeader)) !== 'false';
  }

  /** As the runbook says of one that does not serve. */
  async deleteQueue(name: string): Promise<void> {
    await this.onQueue(name, 'catch rabbit_amqqueue:delete(Queue, false, false, <<"campaign">>)');
  }

  /** Messages in the queue, those that somebody has and has not settled included; 0 if there is no such queue. */
  async messagesIn(name: string): Promise<number> {
    // The totals that a quorum queue reports are up to 5 s old.
    const count = `case amqqueue:get_type(Queue) of
        rabbit_quorum_queue -> {ok, {_, N}, _} = ra:leader_query(Pid, fun rabbit_fifo:query_messages_total/1), N;
        _ -> [{messages, N}] = rabbit_amqqueue:info(Queue, [messages]), N
      end`;
    const answer = await this.onQueue(name, count);
    return answer === 'none' ? 0 : Number(answer);
  }

  /** Keys by which the exchange leads to the queue. */
  async bindingKeys(exchange: string, queue: string): Promise<string[]> {
    const resource = (type: string, name: string): string => `rabbit_misc:r(<<"/">>, ${type}, <<"${name}">>)`;
    const found = `rabbit_binding:list_for_source_and_destination(${resource('exchange', exchange)}, ${resource('queue', queue)})`;
    // The second field of the record.
    const keys = await this.eval(`[binary_to_list(element(3, Binding)) || Binding <- ${found}].`);
    return [...keys.matchAll(/"([^"]+)"/g)].map(([, key = '']) => key);
  }

  /** For queues whose names match: `expires` when nobody consumes them, and the others for their messages. */
  async setPolicy(pattern: string, rule: 'expires' | 'message-ttl' | 'max-length', value: number): Promise<void> {
    await this.eval(
      `ok = rabbit_policy:set(<<"/">>, <<"${rule}">>, <<"${pattern}">>, [{<<"${rule}">>, ${value}}], 9, <<"queues">>, <<"campaign">>).`,
    );
  }

  async dropPolicy(rule: string): Promise<void> {
    await this.eval(`rabbit_policy:delete(<<"/">>, <<"${rule}">>, <<"campaign">>).`);
  }

  /** Of the stand-in for the delayed exchange: each publish ends its connection with 541, as a plugin in trouble does. */
  async failPublishes(does: boolean): Promise<void> {
    await this.eval(`application:set_env(rabbitmq_delayed_exchange_stand_in, fails_publishes, ${does}).`);
  }

  /** Its data are gone. Call it while the broker is down. */
  wipe(): void {
    const data = join(this.directory, 'mnesia');
    for (const name of readdirSync(data)) rmSync(join(data, name), { recursive: true, force: true });
    rmSync(join(this.directory, 'feature_flags'), { force: true });
  }

  private onQueue(name: string, work: string): Promise<string> {
    return this.eval(
      `case rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"${name}">>)) of
         {ok, Queue} -> Pid = amqqueue:get_pid(Queue), ${work};
         _ -> none
       end.`,
    );
  }

  private async setMemoryLimit(bytes: number): Promise<void> {
    await this.eval(`ok = vm_memory_monitor:set_vm_memory_high_watermark({absolute, ${bytes}}).`);
  }

  private async setDiskLimit(bytes: number): Promise<void> {
    await this.eval(`ok = rabbit_disk_monitor:set_disk_free_limit(${bytes}).`);
  }

  /** One after the other, as each takes the same ports. @returns the value, as Erlang prints it. */
  private eval(expressions: string): Promise<string> {
    const place = {
      directory: this.directory,
      amqpPort: Number(new URL(this.amqpUrl).port),
      erlangBin: this.text('erlangBin'),
      libraryFolders: this.told('libraryFolders') as readonly string[],
    };
    const result = this.evaluating.then(() => evalOnBroker(place, expressions));
    this.evaluating = result.catch(() => undefined);
    return result;
  }
}
