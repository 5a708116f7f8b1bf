export { canWrite } from './can-write';
export { cancel, discard, hangUp, type PooledClient } from './hang-up';
export { interceptQueries, type Send } from './intercept-queries';
export { NoAnswerError } from './no-answer-error';
export { onOwnConnection, STATEMENT_MS } from './on-own-connection';
export { ownQuery } from './own-query';
export { ReadOnlySessionError } from './read-only-session-error';
export { isReadOnly, isSessionLost, isUnanswered } from './session-lost';
