import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from '../support/servers/program';
import { COMPILER, ROOT } from '../support/servers/program-file';
import { createDatabase, type TestDatabase } from '../support/database';
import { attributeOf, OtlpReceiver, type ReceivedSpan } from '../support/otlp-receiver';
import { createVhost, type TestVhost } from '../support/rabbit-vhost';

const LIMIT_MS = 90_000;
const WINDOW_SECONDS = 2;

describe('examples/tracing, a shop whose spans go to a receiver of OTLP', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let receiver: OtlpReceiver;
  let output: string;
  const folder = mkdtempSync(join(tmpdir(), 'order-timeout-tracing-'));

  beforeAll(async () => {
    [database, vhost, receiver] = await Promise.all([createDatabase(), createVhost(), OtlpReceiver.open()]);
    const file = join(ROOT, 'examples/tracing/main.ts');
    const program = new Program({
      name: 'the example',
      nodeArguments: ['--require', COMPILER, file, '--seconds', String(WINDOW_SECONDS)],
      environment: {
        ...{ DATABASE_URL: database.url, RABBITMQ_URLS: vhost.url, OT_JAEGER_PORT: '16686' },
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      },
      logFile: join(folder, 'example.log'),
    });
    program.spawn();
    const hasEnded = await program.whenGone(LIMIT_MS);
    output = program.output;
    if (!hasEnded) await program.kill();
  });

  afterAll(async () => {
    await receiver.close();
    await database.drop();
    await vhost.drop();
    rmSync(folder, { recursive: true });
  });

  const placing = (): ReceivedSpan => {
    const [span, ...others] = receiver.spans.filter(({ kind }) => kind === 2);
    if (!span || others.length > 0) throw new Error(`not one request was received, but ${others.length}:\n${output}`);
    return span;
  };
  const linked = (spans: readonly ReceivedSpan[]): (readonly string[])[] =>
    spans.map(({ links = [] }) => [...new Set(links.map(({ traceId }) => traceId))]);
  const secondsAfterPlacing = ({ startTimeUnixNano: start }: ReceivedSpan): number =>
    Number(BigInt(start) - BigInt(placing().startTimeUnixNano)) / 1e9;

  it('prints how the order ended, and where to look', () => {
    expect(output).toMatch(/^traced-\d+: placed, and due in 2 s\ntraced-\d+: CLOSED by message\n/);
    expect(output).toContain(`http://127.0.0.1:16686/trace/${placing().traceId}\n`);
    expect([...receiver.services]).toEqual(['shop']);
  });

  it('links the closing to the trace of the placing, across the wait', () => {
    const settled = receiver.named('settle order.payment');
    // The first starts the look-up, and the second closes the order.
    expect(settled.length).toBe(2);
    expect(linked(settled)).toEqual([[placing().traceId], [placing().traceId]]);
    expect(settled.map(({ traceId }) => traceId)).not.toContain(placing().traceId);
    for (const span of settled) expect(secondsAfterPlacing(span)).toBeGreaterThan(WINDOW_SECONDS - 0.2);
  });

  it('links the look-up at the bank, which is found by the id of the order', () => {
    const [lookUp, ...others] = receiver.named('look up order.payment');
    if (!lookUp || others.length > 0) throw new Error(`${others.length + 1} look-ups:\n${output}`);
    expect(linked([lookUp])).toEqual([[placing().traceId]]);
    expect(output).toContain(`${attributeOf(lookUp, 'order_timeout.key')}: CLOSED`);
    for (const name of ['query bank', 'close bank']) {
      const calls = receiver.named(name);
      expect(calls.map(({ parentSpanId }) => parentSpanId)).toContain(lookUp.spanId);
      expect(new Set(calls.map(({ traceId }) => traceId))).toEqual(new Set([lookUp.traceId]));
    }
  });

  it('links the wake-up to the placing', () => {
    expect(linked(receiver.named('publish wake-up')).flat()).toContain(placing().traceId);
  });

  it('shows the end of the order in the trace of the placing, with a link to its delivery', () => {
    const [end, ...others] = receiver.named('order.closed');
    if (!end || others.length > 0) throw new Error(`the order ended ${others.length + 1} times:\n${output}`);
    expect(end.traceId).toBe(placing().traceId);
    expect(end.parentSpanId).toBe(placing().spanId);
    expect(secondsAfterPlacing(end)).toBeGreaterThan(WINDOW_SECONDS - 0.2);
    const deliveries = receiver.named('look up order-listener.order-watch').map(({ traceId }) => [traceId]);
    expect(linked([end])).toEqual(deliveries);
  });
});
