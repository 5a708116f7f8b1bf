import {
  type Attributes,
  type Context,
  context,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  isSpanContextValid,
  type SpanContext,
} from '@opentelemetry/api';

const KINDS = {
  internal: SpanKind.INTERNAL,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

/** What an SDK keeps of the links of a span by default. */
const MOST_LINKS = 128;

/** A span, before it begins. */
export interface SpanPlan {
  /** @default 'internal' */
  readonly kind?: keyof typeof KINDS;
  readonly attributes?: Attributes;
  /** Traceparent of the span that this one continues. Absent: the active span, unless there are `causes`. */
  readonly parent?: string | undefined;
  /**
   * Traceparents of what led to this work, perhaps days ago and in many traces. They become links, and the span begins a
   * trace of its own. The first 128 different ones count.
   */
  readonly causes?: readonly (string | null | undefined)[];
}

/**
 * Runs `work` inside a span of the host's OpenTelemetry SDK. Without an SDK, this costs one call and records nothing.
 *
 * @param outcomeOf attributes that the result gives the span.
 * @throws what `work` throws, after it was recorded.
 */
export async function inSpan<T>(
  name: string,
  plan: SpanPlan,
  work: () => Promise<T>,
  outcomeOf?: (result: T) => Attributes,
): Promise<T> {
  const { kind = 'internal', attributes = {}, causes } = plan;
  const links = causes ? linksTo(causes) : [];
  const tracer = trace.getTracer('nestjs-order-timeout');
  const span = tracer.startSpan(name, { kind: KINDS[kind], attributes, links }, parentOf(plan));
  return context.with(trace.setSpan(context.active(), span), () => observed(span, work, outcomeOf));
}

async function observed<T>(span: Span, work: () => Promise<T>, outcomeOf?: (result: T) => Attributes): Promise<T> {
  try {
    const result = await work();
    if (outcomeOf) span.setAttributes(outcomeOf(result));
    return result;
  } catch (error) {
    span.recordException(error instanceof Error ? error : String(error));
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}

function parentOf({ parent, causes }: SpanPlan): Context {
  const remote = spanContextOf(parent);
  if (remote) return trace.setSpanContext(ROOT_CONTEXT, remote);
  return causes ? ROOT_CONTEXT : context.active();
}

function linksTo(causes: readonly (string | null | undefined)[]): Link[] {
  const links: Link[] = [];
  for (const cause of new Set(causes)) {
    const linked = spanContextOf(cause);
    if (linked) links.push({ context: linked });
    if (links.length === MOST_LINKS) break;
  }
  return links;
}

/** The W3C traceparent of the span that is active here. Undefined without one, or without an OpenTelemetry SDK. */
export function activeTraceparent(): string | undefined {
  const context = trace.getActiveSpan()?.spanContext();
  return context && isSpanContextValid(context) ? formatTraceparent(context) : undefined;
}

/** W3C trace context: version, trace id, parent id, flags. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A traceparent from outside, or undefined if it is none: it goes into rows and headers as it is. */
export function traceparentOf(value: unknown): string | undefined {
  return typeof value === 'string' && TRACEPARENT.test(value) ? value : undefined;
}

/** The span that a traceparent names, or undefined if it names none. */
function spanContextOf(traceparent: string | null | undefined): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] = traceparentOf(traceparent)?.split('-') ?? [];
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(context) ? context : undefined;
}

function formatTraceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
}

interface Messaging {
  /** Messages handled together. */
  readonly count?: number;
  readonly destination?: string;
  readonly messageId?: string | undefined;
}

/** The attributes of a messaging span, named as in OpenTelemetry's semantic conventions. */
export function messagingAttributes(
  operation: 'send' | 'process',
  { count, destination, messageId }: Messaging,
): Attributes {
  return {
    'messaging.system': 'rabbitmq',
    'messaging.operation.type': operation,
    ...(count !== undefined && { 'messaging.batch.message_count': count }),
    ...(destination !== undefined && { 'messaging.destination.name': destination }),
    ...(messageId !== undefined && { 'messaging.message.id': messageId }),
  };
}
