import { assertNever } from '../errors';
import { DelayedExchangeMissingError } from './delayed-exchange-missing-error';
import { DelayedExchangeUnusableError } from './delayed-exchange-unusable-error';
import { type DelayTransportName } from './delay-transport';
import { type ProbeResult } from './probe-transport';

/** The configured value. With `auto`, the probe decides. */
export type DelayTransportSetting = 'auto' | DelayTransportName;

/**
 * The transport to use from now on. `undecided` occurs only at the first probe: stay with the sweep and probe again.
 */
export type TransportSelection =
  | { readonly type: 'use'; readonly transport: DelayTransportName; readonly reason: string }
  | { readonly type: 'undecided'; readonly reason: string };

/**
 * Whether the choice depends on the broker. With several URLs (a cluster), `auto` means the ladder, because the plugin
 * keeps waiting messages on one node only and the ladder keeps them on all nodes.
 */
export function asksTheBroker(configured: DelayTransportSetting, urls: readonly string[]): boolean {
  return configured === 'delayed-exchange' || (configured === 'auto' && urls.length === 1);
}

/**
 * Chooses the transport. An `unknown` probe changes nothing: only a clear answer of the broker switches.
 *
 * @param probe of the delayed exchange; undefined if there is nothing to probe (see `asksTheBroker`).
 * @throws DelayedExchangeMissingError if the plugin is required and the broker does not have it.
 * @throws DelayedExchangeUnusableError if the plugin is required and present, but fails.
 */
export function selectTransport(
  configured: DelayTransportSetting,
  probe: ProbeResult | undefined,
  previous?: DelayTransportName,
): TransportSelection {
  if (configured === 'delayed-exchange' && probe) insistOn(probe);
  if (configured !== 'auto') return use(configured, 'it is configured');
  if (!probe)
    return use('ladder', 'several broker URLs are configured, and the plugin keeps waiting messages on one node only');
  switch (probe.type) {
    case 'works':
      return use('delayed-exchange', 'the broker has a working exchange type x-delayed-message');
    case 'absent':
      return use('ladder', 'the broker does not know the exchange type x-delayed-message');
    case 'unusable':
      return use('ladder', `the exchange type x-delayed-message does not work on this broker: ${probe.reason}`);
    case 'unknown':
      if (previous) return use(previous, `kept, because the probe was inconclusive: ${probe.reason}`);
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
