export { activeTraceparent, inSpan, type SpanPlan, messagingAttributes, traceparentOf } from './spans';
