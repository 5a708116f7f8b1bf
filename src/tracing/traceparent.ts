import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';

/** W3C trace context: version, trace id, parent id, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A traceparent from outside, or undefined if it is none: it goes into rows and headers as it is. */
export function traceparentOf(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined;
}

/** The span that a traceparent names, or undefined if it names none. */
export function spanContextOf(traceparent: string | null | undefined): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = traceparentOf(traceparent)?.split('-') ?? [];
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}

export function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}
