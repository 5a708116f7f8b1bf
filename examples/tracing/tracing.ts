import { diag, DiagConsoleLogger, DiagLogLevel } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { HttpInstrumentation } from '@opentelemetry/instrumentation-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

diag.setLogger(new DiagConsoleLogger(), { logLevel: DiagLogLevel.ERROR });

/** Sends the spans to OTEL_EXPORTER_OTLP_ENDPOINT, by default http://localhost:4318. */
export const tracing = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'shop' }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
tracing.register();
new HttpInstrumentation();
