import { type AsyncLocalStorage } from 'node:async_hooks';

/**
 * The fetch function for stripe-node. Sends to `baseUrl`, including its path, and aborts with the signal of the current
 * call, because stripe-node accepts no signal. Does not follow redirects: another address would see the secret key.
 */
export function stripeFetch(baseUrl: string, signals: AsyncLocalStorage<AbortSignal>): typeof fetch {
  return (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const given = [signals.getStore(), init?.signal].filter((signal) => signal instanceof AbortSignal);
    const headers = new Headers(init?.headers);
    // fetch sets the header itself. The undici that alipay-sdk installs rejects a request that has it twice.
    headers.delete('content-length');
    const signal = AbortSignal.any(given);
    return fetch(`${baseUrl}${pathname}${search}`, { ...init, headers, redirect: 'error', signal });
  };
}
