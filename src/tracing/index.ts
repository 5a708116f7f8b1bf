export { activeTraceparent } from './active-traceparent';
export { inSpan, type SpanPlan } from './in-span';
export { messagingAttributes } from './messaging-attributes';
export { traceparentOf } from './traceparent';
