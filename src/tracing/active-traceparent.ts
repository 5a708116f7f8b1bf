import { isSpanContextValid, trace } from '@opentelemetry/api';
import { formatTraceparent } from './traceparent';

/** The W3C traceparent of the span that is active here. Undefined without one, or without an OpenTelemetry SDK. */
export function activeTraceparent(): string | undefined {
  const context = trace.getActiveSpan()?.spanContext();
  return context && isSpanContextValid(context) ? formatTraceparent(context) : undefined;
}
