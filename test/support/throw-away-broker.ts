import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { evalOnBroker } from './broker-eval';
import { scriptAnswers } from './script-answers';

interface BrokerEvent {
  readonly event: 'ready' | 'stopped' | 'killed' | 'exited' | 'error';
  readonly amqpUrl?: string;
  readonly managementUrl?: string;
  readonly delayedExchange?: string;
  readonly pid?: number;
  readonly message?: string;
}

/** A broker of one test's own, to be stopped and killed at will; the ports stay the same. */
export interface ThrowAwayBroker {
  readonly amqpUrl: string;
  readonly managementUrl: string;
  /** With the profile `plugin`: the `genuine` plugin, or our in-memory `stand-in`. */
  readonly delayedExchange: string | undefined;
  /** The process of a quorum queue answers nobody from now on; its messages stay. Resolves when that is so. */
  suspendQueue(name: string): Promise<void>;
  resumeQueue(name: string): Promise<void>;
  /** For channels that are opened from now on. */
  limitMessages(bytes: number): Promise<void>;
  /** Orderly stop and start; resolves when it takes connections again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** kill -9. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** It answers nothing any more, and its sockets stay open; until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** Ends it for good and removes its data. */
  close(): Promise<void>;
}

/** Starts a RabbitMQ through scripts/broker.mjs (5–10 s) with a folder that it removes at the end. */
export async function startThrowAwayBroker(profile: 'plain' | 'plugin'): Promise<ThrowAwayBroker> {
  const script = join(__dirname, '../../scripts/broker.mjs');
  const directory = mkdtempSync(join(tmpdir(), 'throw-away-broker-'));
  const child = spawn(process.execPath, [script, '--profile', profile, '--directory', directory], { stdio: 'pipe' });
  const exited = once(child, 'exit');
  const answers = scriptAnswers<BrokerEvent>(child, 'the throw-away broker', ['error', 'exited']);
  const tell = async (command: string): Promise<BrokerEvent> => {
    child.stdin.write(`${command}\n`);
    return answers.next();
  };
  const { amqpUrl, managementUrl, delayedExchange, pid: firstPid } = await answers.next();
  let pid = firstPid;
  const ready = async (command: string): Promise<void> => void ({ pid } = await tell(command));
  const signal = (name: NodeJS.Signals): void => void (pid !== undefined && process.kill(pid, name));
  if (!amqpUrl || !managementUrl) throw new Error('the broker did not say where it is');
  const place = {
    directory,
    amqpPort: Number(new URL(amqpUrl).port),
    erlangBin: process.env.OT_ERLANG_BIN ?? '/usr/lib/erlang/bin',
  };
  const onQueue = async (name: string, call: string): Promise<void> => {
    const find = `{ok, Queue} = rabbit_amqqueue:lookup(rabbit_misc:r(<<"/">>, queue, <<"${name}">>))`;
    await evalOnBroker(place, `${find}, ok = ${call}(amqqueue:get_pid(Queue)).`);
  };
  return {
    amqpUrl,
    managementUrl,
    delayedExchange,
    suspendQueue: (name) => onQueue(name, 'sys:suspend'),
    resumeQueue: (name) => onQueue(name, 'sys:resume'),
    limitMessages: async (bytes) => {
      // Up to 3.12 a channel reads the first, later the second.
      const set = `application:set_env(rabbit, max_message_size, ${bytes}), persistent_term:put(max_message_size, ${bytes}).`;
      await evalOnBroker(place, set);
    },
    restart: () => ready('restart'),
    stop: async () => void (await tell('stop')),
    kill: async () => void (await tell('kill')),
    start: () => ready('start'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    close: async () => {
      child.stdin.end();
      await exited;
      rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
