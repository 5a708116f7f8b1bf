import {
  DelayedExchangeMissingError,
  selectTransport,
  type DelayTransportName,
  type DelayTransportSetting,
  type ProbeResult,
} from '../../../src/delay';

const present: ProbeResult = { type: 'present' };
const absent: ProbeResult = { type: 'absent' };
const unknown: ProbeResult = { type: 'unknown', reason: 'ACCESS_REFUSED' };

describe('selectTransport', () => {
  it.each<[DelayTransportSetting, ProbeResult, DelayTransportName | undefined, string, string | undefined]>([
    ['auto', present, undefined, 'delayed-exchange', undefined],
    ['auto', present, 'delayed-exchange', 'delayed-exchange', undefined],
    ['auto', present, 'ladder', 'delayed-exchange', 'ladder'],
    ['auto', present, 'none', 'delayed-exchange', 'none'],
    ['auto', absent, undefined, 'ladder', undefined],
    ['auto', absent, 'ladder', 'ladder', undefined],
    ['auto', absent, 'delayed-exchange', 'ladder', 'delayed-exchange'],
    ['auto', unknown, 'delayed-exchange', 'delayed-exchange', undefined],
    ['auto', unknown, 'ladder', 'ladder', undefined],
    ['ladder', present, undefined, 'ladder', undefined],
    ['ladder', absent, 'delayed-exchange', 'ladder', 'delayed-exchange'],
    ['ladder', unknown, undefined, 'ladder', undefined],
    ['delayed-exchange', present, 'ladder', 'delayed-exchange', 'ladder'],
    ['delayed-exchange', unknown, undefined, 'delayed-exchange', undefined],
    ['none', present, undefined, 'none', undefined],
    ['none', absent, 'ladder', 'none', 'ladder'],
  ])('%s with %j after %s means %s', (configured, probe, previous, transport, switchedFrom) => {
    const selection = selectTransport(configured, probe, previous);
    expect(selection).toMatchObject({ type: 'use', transport });
    expect('switchedFrom' in selection ? selection.switchedFrom : undefined).toBe(switchedFrom);
  });

  it('is undecided when nothing is known and nothing was in use', () => {
    expect(selectTransport('auto', unknown)).toEqual({ type: 'undecided', reason: 'ACCESS_REFUSED' });
  });

  it('refuses to run without the plugin when that is demanded, and says what to do', () => {
    const select = (): unknown => selectTransport('delayed-exchange', absent, 'delayed-exchange');
    expect(select).toThrow(DelayedExchangeMissingError);
    expect(select).toThrow(/configure the transport "auto" or "ladder"/);
  });
});
