import { type Link } from '@opentelemetry/api';
import { DONE, type DueTimeout, LOOK_UP, TimeoutHandler, type TimeoutHandlerBatch } from '../../../src/timeouts';
import { activeTraceparent, inSpan } from '../../../src/tracing';
import { createDatabase, type TestDatabase } from '../../support/database';
import { startEngine, type TestEngine, until } from '../../support/engine';
import { createVhost, type TestVhost } from '../../support/rabbit-vhost';
import { recordSpans, type SpanRecorder } from '../../support/record-spans';

@TimeoutHandler('traced')
class Traced implements TimeoutHandlerBatch<string> {
  async handleBatch(due: readonly DueTimeout<string>[]) {
    return inSpan('handler', {}, async () => due.map(({ answer }) => (answer === undefined ? LOOK_UP : DONE)));
  }

  lookUp(): Promise<string> {
    return inSpan('call of the handler', {}, async () => 'unpaid');
  }
}

describe('the spans of a timeout', () => {
  let database: TestDatabase;
  let vhost: TestVhost;
  let engine: TestEngine;
  let spans: SpanRecorder;

  beforeAll(async () => {
    [database, vhost] = await Promise.all([createDatabase(), createVhost()]);
    spans = recordSpans();
    engine = await startEngine(database, vhost.url, [new Traced()]);
    await until(() => engine.engine.isMessagePathUp);
  });

  afterAll(async () => {
    await engine.close();
    spans.stop();
    await database.drop();
    await vhost.drop();
  });

  const linked = (links: readonly Link[] | undefined): string[] => (links ?? []).map(({ context }) => context.traceId);

  it('link the span in which it was scheduled, across the wait', async () => {
    const traceparent = await inSpan('checkout', {}, async () => {
      await engine.scheduler.schedule([{ kind: 'traced', key: 'order-1', afterMs: 300 }]);
      return activeTraceparent();
    });
    await engine.settled.done(1);
    await until(() => spans.named('publish wake-up').length > 0);
    const traceId = traceparent?.split('-')[1] ?? '';
    expect(linked(spans.named('publish wake-up')[0]?.links)).toEqual([traceId]);
    expect(spans.named('settle traced').map(({ links }) => linked(links))).toEqual([[traceId], [traceId]]);
    expect(linked(spans.named('look up traced')[0]?.links)).toEqual([traceId]);
  });

  it('contain what the handler does', () => {
    const idsOf = (name: string): string[] => spans.named(name).map((span) => span.spanContext().spanId);
    const parentsOf = (name: string) => spans.named(name).map((span) => span.parentSpanContext?.spanId);
    expect(parentsOf('handler')).toEqual(idsOf('settle traced'));
    expect(parentsOf('call of the handler')).toEqual(idsOf('look up traced'));
  });
});
