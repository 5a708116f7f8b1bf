import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stretched } from '../machine-load';

const run = promisify(execFile);
const LIMIT_MS = 20_000;
const NODE = 'throw-away@localhost';
/** What `rabbitmqctl eval` does, without the seconds that it takes to start. */
const EVALUATE = `
  [Text] = init:get_plain_arguments(),
  {ok, Tokens, _} = erl_scan:string(Text),
  {ok, Expressions} = erl_parse:parse_exprs(Tokens),
  {value, Value, _} = rpc:call('${NODE}', erl_eval, exprs, [Expressions, []], 15000),
  io:format("~tp", [Value]), halt(0).`;

/** Where a broker of scripts/server.mjs is. */
export interface BrokerPlace {
  readonly directory: string;
  /** The port block of scripts/stack/rabbitmq.mjs begins with the AMQP port. */
  readonly amqpPort: number;
  readonly erlangBin: string;
  /** Where shared libraries came along with a downloaded Erlang. */
  readonly libraryFolders: readonly string[];
}

/**
 * Somebody else may have killed it just now, with the program where nodes register, and starts it again; until it has its
 * tables, every look-up in them exits.
 */
const IS_DOWN = /\{badrpc,(nodedown|\{EXIT)|register\/listen error/;
const DOWN_MS = 60_000;
const PAUSE_MS = 1_000;

/**
 * Runs Erlang in a broker, as soon as it is up.
 *
 * @returns the value of the last expression, as Erlang prints it
 */
export async function evalOnBroker(place: BrokerPlace, expressions: string): Promise<string> {
  for (const endsAt = performance.now() + stretched(DOWN_MS); ;) {
    try {
      return await evalOnce(place, expressions);
    } catch (error) {
      if (!IS_DOWN.test(String(error)) || performance.now() > endsAt) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

async function evalOnce(
  { directory, amqpPort: port, erlangBin, libraryFolders }: BrokerPlace,
  expressions: string,
): Promise<string> {
  const cookie = readFileSync(join(directory, 'home', '.erlang.cookie'), 'utf8').trim();
  const kernel = `-kernel inet_dist_listen_min ${port + 5} inet_dist_listen_max ${port + 6} inet_dist_use_interface {127,0,0,1}`;
  const args = ['-noinput', '-sname', `test-${process.pid}@localhost`, '-setcookie', cookie, '-hidden'];
  const all = [...kernel.split(' '), ...args, '-eval', EVALUATE, '-extra', expressions];
  const { stdout } = await run(join(erlangBin, 'erl'), all, {
    timeout: stretched(LIMIT_MS),
    env: {
      PATH: `${erlangBin}:/usr/local/bin:/usr/bin:/bin`,
      HOME: process.env.HOME,
      ...(libraryFolders.length > 0 && { LD_LIBRARY_PATH: libraryFolders.join(':') }),
      ERL_EPMD_PORT: String(port + 4),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      // None is written to the working directory.
      ERL_CRASH_DUMP_BYTES: '0',
    },
  });
  return stdout;
}
