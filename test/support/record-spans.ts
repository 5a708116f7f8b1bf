import { context, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

export interface SpanRecorder {
  named(name: string): ReadableSpan[];
  stop(): void;
}

/** An OpenTelemetry SDK that keeps the ended spans. */
export function recordSpans(): SpanRecorder {
  const exporter = new InMemorySpanExporter();
  const manager = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(manager);
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  return {
    named: (name) => exporter.getFinishedSpans().filter((span) => span.name === name),
    stop: () => {
      trace.disable();
      context.disable();
      manager.disable();
    },
  };
}
