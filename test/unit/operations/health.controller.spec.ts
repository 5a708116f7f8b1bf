import { HealthController } from '../../../src/operations/operations.module';
import { type MomentaryState, type ServiceState } from '../../../src/operations/service-state';

const UP: MomentaryState = { isReady: true, broker: 'up', messagePath: 'up', transport: 'ladder' };

describe('GET /health/ready', () => {
  it.each<[string, Partial<MomentaryState>, string]>([
    ['everything is up', {}, 'ready'],
    ['the transport is none', { messagePath: 'off', transport: 'none' }, 'ready'],
    ['there is no broker', { broker: 'not configured', messagePath: 'off', transport: 'none' }, 'ready'],
    ['the message path is down', { messagePath: 'down' }, 'degraded'],
    ['wake-ups get lost', { messagePath: 'suspect', cause: 'they go missing' }, 'degraded'],
    ['another service uses the prefix', { cause: 'another service' }, 'degraded'],
    ['it is starting', { isReady: false }, 'not-ready'],
  ])('when %s', async (_, change, status) => {
    const state = { now: () => ({ ...UP, ...change }), isDatabaseUp: async () => true } as unknown as ServiceState;
    const codes: number[] = [];
    const readiness = await new HealthController(state).ready({ status: (code) => codes.push(code) });
    expect(readiness).toMatchObject({ status, ...(change.cause && { cause: change.cause }) });
    expect(codes).toEqual(status === 'not-ready' ? [503] : []);
  });
});
