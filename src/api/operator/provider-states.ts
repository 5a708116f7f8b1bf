import { type PaymentProviders, ResilientProvider } from '../../payments';
import { type Controls } from '../../timeouts';
import { type ProviderState } from './overview';

/** The state of every provider, as this process sees it, in the order of configuration. */
export function providerStates(providers: PaymentProviders, controls: Controls): ProviderState[] {
  return providers.names().flatMap((name) => {
    const provider = providers.get(name);
    if (!(provider instanceof ResilientProvider)) return [];
    const { pause, limit } = controls.of(`provider:${name}`);
    const { breakerState: breaker, configuredPerSecond } = provider;
    const limitPerSecond = limit?.perSecond ?? null;
    return [{ name, breaker, paused: pause !== null, pause, limitPerSecond, configuredPerSecond }];
  });
}
