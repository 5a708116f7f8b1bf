import {
  asksTheBroker,
  type DelayTransportName,
  type DelayTransportSetting,
  type ProbeResult,
  selectTransport,
} from '../../../src/delay';
import { DelayedExchangeMissingError, DelayedExchangeUnusableError } from '../../../src/delay/delay-transport';

const works: ProbeResult = { type: 'works' };
const absent: ProbeResult = { type: 'absent' };
const unusable: ProbeResult = { type: 'unusable', reason: '541 (INTERNAL-ERROR)' };
const unknown: ProbeResult = { type: 'unknown', reason: 'ACCESS_REFUSED' };

describe('selectTransport', () => {
  it.each<[DelayTransportSetting, ProbeResult | undefined, DelayTransportName | undefined, DelayTransportName]>([
    ['auto', works, undefined, 'delayed-exchange'],
    ['auto', works, 'delayed-exchange', 'delayed-exchange'],
    ['auto', works, 'ladder', 'delayed-exchange'],
    ['auto', works, 'none', 'delayed-exchange'],
    ['auto', absent, undefined, 'ladder'],
    ['auto', absent, 'ladder', 'ladder'],
    ['auto', absent, 'delayed-exchange', 'ladder'],
    ['auto', unusable, undefined, 'ladder'],
    ['auto', unusable, 'delayed-exchange', 'ladder'],
    ['auto', unknown, 'delayed-exchange', 'delayed-exchange'],
    ['auto', unknown, 'ladder', 'ladder'],
    ['auto', undefined, undefined, 'ladder'],
    ['auto', undefined, 'delayed-exchange', 'ladder'],
    ['ladder', undefined, undefined, 'ladder'],
    ['ladder', undefined, 'delayed-exchange', 'ladder'],
    ['delayed-exchange', works, 'ladder', 'delayed-exchange'],
    ['delayed-exchange', unknown, undefined, 'delayed-exchange'],
    ['none', undefined, undefined, 'none'],
    ['none', undefined, 'ladder', 'none'],
  ])('%s with %j after %s means %s', (configured, probe, previous, transport) => {
    expect(selectTransport(configured, probe, previous)).toMatchObject({ type: 'use', transport });
  });

  it('is undecided if nothing is known and no transport was in use', () => {
    expect(selectTransport('auto', unknown)).toEqual({ type: 'undecided', reason: 'ACCESS_REFUSED' });
  });

  it('throws if the plugin is required and missing, and says what to do', () => {
    const select = (): unknown => selectTransport('delayed-exchange', absent, 'delayed-exchange');
    expect(select).toThrow(DelayedExchangeMissingError);
    expect(select).toThrow(/configure the transport "auto" or "ladder"/);
  });

  it('throws if the plugin is required and fails, and says why and what to do', () => {
    const select = (): unknown => selectTransport('delayed-exchange', unusable);
    expect(select).toThrow(DelayedExchangeUnusableError);
    expect(select).toThrow(/541 \(INTERNAL-ERROR\); .*restart the node/);
  });
});

describe('asksTheBroker', () => {
  it.each<[DelayTransportSetting, number, boolean]>([
    ['auto', 1, true],
    ['auto', 3, false],
    ['delayed-exchange', 1, true],
    ['delayed-exchange', 3, true],
    ['ladder', 1, false],
    ['none', 1, false],
  ])('for %s and %i URLs: %s', (configured, count, expected) => {
    expect(
      asksTheBroker(
        configured,
        Array.from({ length: count }, (_, node) => `amqp://node-${node}`),
      ),
    ).toBe(expected);
  });
});
