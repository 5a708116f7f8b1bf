export {
  announceAfterCommit,
  onAnnouncedCommit,
  type AnnouncedWakeUp,
  insertEvents,
  insertWakeUps,
  Outbox,
  type OutboxBacklog,
  type JsonObject,
  type OutboxEntry,
  wakeUpBody,
} from './outbox';
export { routeEvent, messageOf, type ClaimedRow } from './outbox-claims';
export { addOutboxAge, createOutbox } from './migrations';
export { type OutboxRouter, OutboxRelays } from './outbox-relay';
export {
  takeEvents,
  type ParkedRow,
  ParkedRows,
  countUnsentEvents,
  type UnsentEvent,
  unsentEvents,
  unsentEventsOf,
  UnsentWakeUps,
} from './unsent-rows';
