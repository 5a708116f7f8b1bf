import { type MomentaryState } from './service-state';

/** What a probe is told. */
export interface Readiness extends Omit<MomentaryState, 'isReady'> {
  /** `degraded`: requests are served, but events are delayed or closings are less punctual. */
  readonly status: 'ready' | 'degraded' | 'not-ready';
  readonly engine: 'ready' | 'starting-or-stopping';
  readonly database: 'up' | 'down';
}

/** Pure: requests need the engine and the database, but not the broker. */
export function assessReadiness({ isReady, ...rest }: MomentaryState, isDatabaseUp: boolean): Readiness {
  const isPathFine = rest.messagePath === 'up' || rest.messagePath === 'off';
  const isDegraded = rest.broker === 'down' || !isPathFine || rest.cause !== undefined;
  const status = isReady && isDatabaseUp ? (isDegraded ? 'degraded' : 'ready') : 'not-ready';
  return {
    status,
    engine: isReady ? 'ready' : 'starting-or-stopping',
    database: isDatabaseUp ? 'up' : 'down',
    ...rest,
  };
}
