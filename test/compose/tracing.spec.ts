import { answerOf } from '../support/until';
import { removeAll, runDocumented, urlOf } from './compose-project';
import { unconfined } from './confinement';

const hasJaeger = !(process.env.OT_MISSING_IMAGES ?? '').includes('jaegertracing/');
const TRACE_ID = '5b8efff798038103d269b633813fc60c';
const SPAN = {
  ...{ traceId: TRACE_ID, spanId: 'eee19b7ec3c1b174', name: 'POST', kind: 2 },
  ...{ startTimeUnixNano: '1767225600000000000', endTimeUnixNano: '1767225601000000000' },
};

(hasJaeger ? describe : describe.skip)('the profile tracing', () => {
  beforeAll(() => runDocumented('docker compose --profile tracing up --detach --wait jaeger'));
  afterAll(removeAll);

  it('takes spans over OTLP/HTTP, and shows their trace', async () => {
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] };
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ spans: [SPAN] }] }] });
    const [otlp, jaeger] = [await urlOf('jaeger', 4318), await urlOf('jaeger', 16686)];
    const headers = { 'content-type': 'application/json' };
    await answerOf('Jaeger takes the span', 60_000, undefined, async () => {
      const sent = await fetch(`${otlp}/v1/traces`, { method: 'POST', headers, body }).catch(() => undefined);
      return sent?.ok || undefined;
    });
    const trace = await answerOf('Jaeger shows the trace', 60_000, undefined, async () => {
      const found = await fetch(`${jaeger}/api/traces/${TRACE_ID}`).catch(() => undefined);
      return found?.ok ? ((await found.json()) as { data: { traceID: string }[] }) : undefined;
    });
    expect(trace.data.map(({ traceID }) => traceID)).toEqual([TRACE_ID]);
  });

  it('runs nothing as root, and lets no process write to its image', async () => {
    expect(await unconfined()).toEqual([]);
  });
});
