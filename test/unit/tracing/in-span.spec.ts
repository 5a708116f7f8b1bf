import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { activeTraceparent, inSpan } from '../../../src/tracing';
import { recordSpans, type SpanRecorder } from '../../support/record-spans';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const OTHER = '1af7651916cd43dd8448eb211c80319c';
const parentOf = (traceId: string): string => `00-${traceId}-b7ad6b7169203331-01`;

describe('a span', () => {
  let spans: SpanRecorder;

  beforeEach(() => (spans = recordSpans()));
  afterEach(() => spans.stop());

  it('is active during its work, and ends with the outcome of the work', async () => {
    const seen = await inSpan(
      'work',
      { kind: 'client' },
      async () => activeTraceparent(),
      () => ({ outcome: 'fine' }),
    );
    const [span] = spans.named('work');
    expect(span).toMatchObject({ kind: SpanKind.CLIENT, attributes: { outcome: 'fine' } });
    expect(seen).toBe(`00-${span?.spanContext().traceId}-${span?.spanContext().spanId}-01`);
  });

  it('continues the active span, or the remote one that is named as its parent', async () => {
    await inSpan('outer', {}, () => inSpan('inner', {}, async () => undefined));
    await inSpan('outer', {}, () => inSpan('remote', { parent: parentOf(TRACE_ID) }, async () => undefined));
    const [outer] = spans.named('outer');
    expect(spans.named('inner')[0]?.parentSpanContext?.spanId).toBe(outer?.spanContext().spanId);
    expect(spans.named('remote')[0]?.spanContext().traceId).toBe(TRACE_ID);
  });

  it('links its causes once each and begins a trace of its own', async () => {
    const causes = [parentOf(TRACE_ID), undefined, parentOf(OTHER), parentOf(TRACE_ID), null, 'nonsense'];
    await inSpan('outer', {}, () => inSpan('batch', { causes }, async () => undefined));
    const [batch] = spans.named('batch');
    expect(batch?.links.map((link) => link.context.traceId)).toEqual([TRACE_ID, OTHER]);
    expect(batch?.parentSpanContext).toBeUndefined();
  });

  it('records an error and passes it on', async () => {
    const failing = inSpan('work', {}, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    const [span] = spans.named('work');
    expect(span?.status.code).toBe(SpanStatusCode.ERROR);
    expect(span?.events.map(({ name }) => name)).toEqual(['exception']);
  });

  it('passes the traceparent of its parent on if there is no SDK', async () => {
    spans.stop();
    expect(trace.getSpan(context.active())).toBeUndefined();
    expect(await inSpan('work', { parent: parentOf(TRACE_ID) }, async () => 'done')).toBe('done');
    expect(activeTraceparent()).toBeUndefined();
  });
});
