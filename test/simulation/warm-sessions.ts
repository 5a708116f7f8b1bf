import { type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { Client } from 'pg';
import { present } from '../../src/errors';

/** A session of PostgreSQL, as clients leave it to those who come later. */
interface Warm {
  /** Equal for sessions that began with the same settings. */
  readonly key: string;
  readonly pid: number;
  /** Who knows it may cancel its statements. */
  readonly secret: number;
  readonly socket: Socket;
}

/** What pg keeps of a client. */
interface Opened {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connectionParameters: object;
  readonly connection: { stream: Duplex };
  getStartupConf(): object;
}

/** As many stay for others. */
const MOST = 24;

const RESET = Buffer.concat([message('Q', 'ROLLBACK\0'), message('Q', 'DISCARD ALL\0')]);

/** The last of what PostgreSQL says to RESET. */
const IS_RESET = 'DISCARD ALL\0Z\0\0\0\x05I';

/**
 * Sessions that outlive their clients: a new one takes PostgreSQL as long as a hundred statements. Its caches stay warm;
 * what a client has set, prepared, and locked is discarded.
 */
export class WarmSessions {
  private readonly idle: Warm[] = [];

  /** @param connect as pg does it */
  constructor(private readonly connect: (client: Client) => Promise<unknown>) {}

  /** Before it connects, the client gets a session that has begun. */
  async give(client: Client): Promise<void> {
    const key = JSON.stringify(openedOf(client).getStartupConf());
    const at = this.idle.findIndex((one) => one.key === key);
    const warm = at < 0 ? await this.begin(client, key) : present(this.idle.splice(at, 1)[0], 'a session');
    openedOf(client).connection.stream = new WarmSocket(warm);
  }

  /** Resolves when its locks are free. False: the session is to be ended, because it is in the middle of something. */
  async take(client: Client, isBusy: boolean): Promise<boolean> {
    const { stream } = openedOf(client).connection;
    const warm = stream instanceof WarmSocket ? stream.leave() : undefined;
    if (!warm) return false;
    if (isBusy || !(await reset(warm.socket))) {
      warm.socket.destroy();
      return false;
    }
    this.idle.push(warm);
    if (this.idle.length > MOST) this.idle.shift()?.socket.end(message('X', ''));
    return true;
  }

  private async begin(client: Client, key: string): Promise<Warm> {
    const first = new Client(openedOf(client).connectionParameters);
    first.on('error', () => undefined);
    await this.connect(first);
    const { processID, secretKey, connection } = openedOf(first);
    const [pid, secret] = [present(processID, 'its process'), present(secretKey, 'its key')];
    const warm = { key, pid, secret, socket: connection.stream as Socket };
    warm.socket.removeAllListeners('data');
    warm.socket.once('close', () => this.idle.splice(0, Infinity, ...this.idle.filter((one) => one !== warm)));
    return warm;
  }
}

/** What a client has for a socket. */
class WarmSocket extends Duplex {
  private isGreeted = false;
  private warm: Warm | undefined;
  private readonly hear = (data: Buffer): boolean => this.push(data);
  private readonly hearEnd = (): unknown => this.destroy();

  constructor(warm: Warm) {
    super();
    this.warm = warm;
    warm.socket.on('data', this.hear).once('close', this.hearEnd);
  }

  /** As if the client had just connected. */
  connect(): void {
    process.nextTick(() => this.emit('connect'));
  }

  leave(): Warm | undefined {
    const { warm } = this;
    warm?.socket.off('data', this.hear).off('close', this.hearEnd);
    this.warm = undefined;
    return warm;
  }

  override _read(): void {
    // PostgreSQL sends when it likes.
  }

  override _write(data: Buffer, _encoding: string, done: () => void): void {
    this.pass(data);
    done();
  }

  override _writev(parts: { chunk: Buffer }[], done: () => void): void {
    this.pass(Buffer.concat(parts.map(({ chunk }) => chunk)));
    done();
  }

  override _final(done: () => void): void {
    done();
    this.destroy();
  }

  setNoDelay(): void {
    // It is the session's.
  }

  setKeepAlive(): void {
    // Likewise.
  }

  ref(): void {
    // Likewise.
  }

  unref(): void {
    // Likewise.
  }

  /** The first is what it begins with, which the session has had. */
  private pass(data: Buffer): void {
    if (this.isGreeted) this.warm?.socket.write(data);
    else if (this.warm) this.push(greetingOf(this.warm));
    this.isGreeted = true;
  }
}

/** AuthenticationOk, BackendKeyData, and ReadyForQuery. */
function greetingOf({ pid, secret }: Warm): Buffer {
  const keys = Buffer.alloc(8);
  keys.writeInt32BE(pid);
  keys.writeInt32BE(secret, 4);
  return Buffer.concat([message('R', '\0\0\0\0'), message('K', keys.toString('latin1')), message('Z', 'I')]);
}

/** Of PostgreSQL's protocol. @param body bytes */
function message(type: string, body: string): Buffer {
  const text = Buffer.from(`${type}\0\0\0\0${body}`, 'latin1');
  text.writeInt32BE(text.length - 1, 1);
  return text;
}

/** False: the session has ended. */
function reset(socket: Socket): Promise<boolean> {
  if (socket.destroyed) return Promise.resolve(false);
  return new Promise((resolve) => {
    let said = '';
    const hear = (data: Buffer): void => {
      said += data.toString('latin1');
      if (said.includes(IS_RESET)) end(true);
    };
    const hearEnd = (): void => end(false);
    const end = (isReset: boolean): void => {
      socket.off('data', hear).off('close', hearEnd);
      resolve(isReset);
    };
    socket.on('data', hear).once('close', hearEnd);
    socket.write(RESET);
  });
}

function openedOf(client: Client): Opened {
  return client as unknown as Opened;
}
