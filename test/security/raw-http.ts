import { connect } from 'node:net';

/** One request as the bytes on the wire, so that nothing on our side refuses to send it. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  /** As pairs, so that a name may come twice. */
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

/** What came back; status 0: the connection was closed without an answer. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Every byte, to look for what must not be there. */
  readonly wire: string;
}

/** A request of any bytes on a connection of its own. */
export function askRaw(port: number, request: RawRequest | Buffer): Promise<RawAnswer> {
  const bytes = Buffer.isBuffer(request) ? request : wireOf(request);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const timer = setTimeout(
      () => socket.destroy(new Error(`no answer within 15 s to ${bytes.toString('latin1')}`)),
      15_000,
    );
    let failure: Error | undefined;
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A server that refuses a body early closes while we still send.
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') failure = error;
    });
    socket.on('end', () => socket.end());
    socket.on('close', () => {
      clearTimeout(timer);
      if (failure) reject(failure);
      else resolve(parse(Buffer.concat(chunks).toString('utf8')));
    });
    socket.write(bytes);
  });
}

function wireOf({ method, path, headers, body }: RawRequest): Buffer {
  const lines = [...headers, ['Content-Length', String(body.length)], ['Connection', 'close']];
  const head = `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

function parse(wire: string): RawAnswer {
  const end = wire.indexOf('\r\n\r\n');
  const [first = '', ...rest] = wire.slice(0, end < 0 ? 0 : end).split('\r\n');
  const headers = Object.fromEntries(
    rest.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0), headers, text: wire.slice(end + 4), wire };
}
