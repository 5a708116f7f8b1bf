import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** What a healthy broker of ours has: rabbitmq-server.mjs. */
const NORMAL_BYTES = 209_715_200;
/** More than any disk has. */
const IMPOSSIBLE_BYTES = 10 ** 18;
const LIMIT_MS = 20_000;
const NODE = 'throw-away@localhost';

interface Place {
  readonly directory: string;
  /** The port block of scripts/stack/rabbitmq-server.mjs begins with the AMQP port. */
  readonly amqpPort: number;
  readonly erlangBin: string;
}

/** Sets off the broker's disk alarm, as an operator's `rabbitmqctl` would, without the seconds that one takes to start. */
export class BrokerControl {
  constructor(private readonly place: Place) {}

  async fillDisk(): Promise<void> {
    await this.setDiskLimit(IMPOSSIBLE_BYTES);
  }

  async freeDisk(): Promise<void> {
    await this.setDiskLimit(NORMAL_BYTES);
  }

  private async setDiskLimit(bytes: number): Promise<void> {
    const { directory, amqpPort, erlangBin } = this.place;
    const cookie = readFileSync(join(directory, 'home', '.erlang.cookie'), 'utf8').trim();
    const call = `ok = rpc:call('${NODE}', rabbit_disk_monitor, set_disk_free_limit, [${bytes}], 15000), halt(0).`;
    const name = `campaign-${process.pid}@localhost`;
    const args = ['-noinput', '-sname', name, '-setcookie', cookie, '-hidden', '-eval', call];
    const ports = [
      '-kernel',
      'inet_dist_listen_min',
      String(amqpPort + 5),
      'inet_dist_listen_max',
      String(amqpPort + 6),
    ];
    await run(join(erlangBin, 'erl'), [...ports, ...args], {
      timeout: LIMIT_MS,
      env: {
        PATH: `${erlangBin}:/usr/local/bin:/usr/bin:/bin`,
        HOME: process.env.HOME,
        ERL_EPMD_PORT: String(amqpPort + 4),
        ERL_EPMD_ADDRESS: '127.0.0.1',
      },
    });
  }
}
