import { assertNever } from '../errors';
import { DelayedExchangeMissingError } from './delayed-exchange-missing-error';
import { DelayedExchangeUnusableError } from './delayed-exchange-unusable-error';
import { type DelayTransportName } from './delay-transport';
import { type ProbeResult } from './probe-transport';

/** What an operator may ask for; `auto` lets the probe decide. */
export type DelayTransportSetting = 'auto' | DelayTransportName;

/** The transport to use from now on. `undecided` only at the very first probe: stay on the sweep and probe again. */
export type TransportSelection =
  | { readonly type: 'use'; readonly transport: DelayTransportName; readonly reason: string }
  | { readonly type: 'undecided'; readonly reason: string };

/**
 * Whether the choice depends on what the broker has. With several URLs, those of a cluster, `auto` means the ladder: the
 * plugin keeps what waits on one node only, and the ladder on all of them.
 */
export function asksTheBroker(configured: DelayTransportSetting, urls: readonly string[]): boolean {
  return configured === 'delayed-exchange' || (configured === 'auto' && urls.length === 1);
}

/**
 * Chooses the transport. What is not known changes nothing: only a positive answer of the broker switches.
 *
 * @param probe of the delayed exchange; undefined: there is nothing to ask (see `asksTheBroker`).
 * @throws DelayedExchangeMissingError when the plugin is demanded and positively absent.
 * @throws DelayedExchangeUnusableError when it is demanded and there, and fails.
 */
export function selectTransport(
  configured: DelayTransportSetting,
  probe: ProbeResult | undefined,
  previous?: DelayTransportName,
): TransportSelection {
  if (configured === 'delayed-exchange' && probe) insistOn(probe);
  if (configured !== 'auto') return use(configured, 'it is configured');
  if (!probe) return use('ladder', 'several broker URLs are configured, and the plugin keeps what waits on one node');
  switch (probe.type) {
    case 'works':
      return use('delayed-exchange', 'the broker has a working exchange type x-delayed-message');
    case 'absent':
      return use('ladder', 'the broker does not know the exchange type x-delayed-message');
    case 'unusable':
      return use('ladder', `the exchange type x-delayed-message does not work on this broker: ${probe.reason}`);
    case 'unknown':
      if (previous) return use(previous, `kept, as the probe found nothing out: ${probe.reason}`);
      return { type: 'undecided', reason: probe.reason };
    default:
      return assertNever(probe);
  }
}

function insistOn(probe: ProbeResult): void {
  if (probe.type === 'absent') throw new DelayedExchangeMissingError();
  if (probe.type === 'unusable') throw new DelayedExchangeUnusableError(probe.reason);
}

function use(transport: DelayTransportName, reason: string): TransportSelection {
  return { type: 'use', transport, reason };
}
