export { announceAfterCommit, onAnnouncedCommit, type AnnouncedWakeUp } from './commit-announcer';
export { routeEvent } from './event-router';
export { createOutbox } from './migrations/create-outbox';
export { Outbox } from './outbox';
export { type ClaimedRow } from './outbox-claims';
export { type JsonObject, type OutboxEntry, type OutboxRoute } from './outbox-entry';
export { OutboxRelay, type OutboxRouter, type OutboxRouters } from './outbox-relay';
export { storableJson, storableText } from './storable-json';
export { traceHeaders, traceparentOf } from './trace-headers';
