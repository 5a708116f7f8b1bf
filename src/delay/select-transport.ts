import { assertNever } from '../errors';
import { DelayedExchangeMissingError } from './delayed-exchange-missing-error';
import { type DelayTransportName } from './delay-transport';
import { type ProbeResult } from './probe';

/** What an operator may ask for; `auto` lets the probe decide, after every reconnect anew. */
export type DelayTransportSetting = 'auto' | DelayTransportName;

/**
 * The transport to use from now on. `switchedFrom` is set when that is another one than before: what is pending
 * has to be published again. `undecided` only at the very first probe: stay on the sweep and probe again.
 */
export type TransportSelection =
  | {
      readonly type: 'use';
      readonly transport: DelayTransportName;
      readonly switchedFrom?: DelayTransportName;
      readonly reason: string;
    }
  | { readonly type: 'undecided'; readonly reason: string };

/**
 * Chooses the transport. What is not known changes nothing: only a positive answer of the broker switches.
 * @throws DelayedExchangeMissingError when the plugin is demanded and positively absent.
 */
export function selectTransport(
  configured: DelayTransportSetting,
  probe: ProbeResult,
  previous?: DelayTransportName,
): TransportSelection {
  if (configured === 'delayed-exchange' && probe.type === 'absent') throw new DelayedExchangeMissingError();
  if (configured !== 'auto') return use(configured, 'it is configured', previous);
  switch (probe.type) {
    case 'present':
      return use('delayed-exchange', 'the broker knows the exchange type x-delayed-message', previous);
    case 'absent':
      return use('ladder', 'the broker does not know the exchange type x-delayed-message', previous);
    case 'unknown':
      if (previous) return use(previous, `kept, as the probe found nothing out: ${probe.reason}`, previous);
      return { type: 'undecided', reason: probe.reason };
    default:
      return assertNever(probe);
  }
}

function use(transport: DelayTransportName, reason: string, previous?: DelayTransportName): TransportSelection {
  const isSwitch = previous !== undefined && previous !== transport;
  return { type: 'use', transport, reason, ...(isSwitch && { switchedFrom: previous }) };
}
