import { type AsyncLocalStorage } from 'node:async_hooks';

/**
 * The fetch that stripe-node is given: sends to `baseUrl`, path included, and ends with the signal of the call in
 * progress, as stripe-node takes no signal. Never follows a redirect: another address would see the secret key.
 */
export function stripeFetch(baseUrl: string, signals: AsyncLocalStorage<AbortSignal>): typeof fetch {
  return (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const given = [signals.getStore(), init?.signal].filter((signal) => signal instanceof AbortSignal);
    return fetch(`${baseUrl}${pathname}${search}`, { ...init, redirect: 'error', signal: AbortSignal.any(given) });
  };
}
