import { type AsyncLocalStorage } from 'node:async_hooks';

/**
 * The fetch that stripe-node is given: sends to `baseUrl`, path included, and ends with the signal of the call in
 * progress, as stripe-node takes no signal. Never follows a redirect: another address would see the secret key.
 */
export function stripeFetch(baseUrl: string, signals: AsyncLocalStorage<AbortSignal>): typeof fetch {
  return (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const given = [signals.getStore(), init?.signal].filter((signal) => signal instanceof AbortSignal);
    const headers = new Headers(init?.headers);
    // fetch counts itself. alipay-sdk installs an undici of its own, which refuses the header when it comes twice.
    headers.delete('content-length');
    const signal = AbortSignal.any(given);
    return fetch(`${baseUrl}${pathname}${search}`, { ...init, headers, redirect: 'error', signal });
  };
}
