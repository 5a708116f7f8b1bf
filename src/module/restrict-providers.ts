import { type PaymentProviders, ResilientProvider } from '../payments';
import { type Controls } from '../timeouts';

/** Has the providers follow what operators pause or limit, in every process, whether it serves the operator page or not. */
export function restrictProviders(providers: PaymentProviders, controls: Controls): void {
  controls.onChange(() => {
    for (const name of providers.names()) {
      const provider = providers.get(name);
      const { pause, limit } = controls.of(`provider:${name}`);
      if (provider instanceof ResilientProvider)
        provider.restrict({ paused: pause !== null, perSecond: limit?.perSecond });
    }
  });
}
