import { type AsyncLocalStorage } from 'node:async_hooks';

/** Of an answer, decompressed: a page of 100 refunds has less than a tenth. 389 kB of gzip can hold hundreds of megabytes. */
const MAX_ANSWER_BYTES = 2_097_152;

/**
 * The fetch function for stripe-node. Sends to `baseUrl`, including its path, and aborts with the signal of the current
 * call, because stripe-node accepts no signal. Stops at an answer that is too long. Does not follow redirects: another address would see the secret key.
 */
export function stripeFetch(baseUrl: string, signals: AsyncLocalStorage<AbortSignal>): typeof fetch {
  return async (input, init) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input);
    const given = [signals.getStore(), init?.signal].filter((signal) => signal instanceof AbortSignal);
    const headers = new Headers(init?.headers);
    // fetch sets the header itself. The undici that alipay-sdk installs rejects a request that has it twice.
    headers.delete('content-length');
    const signal = AbortSignal.any(given);
    const response = await fetch(`${baseUrl}${pathname}${search}`, { ...init, headers, redirect: 'error', signal });
    return response.body ? new Response(response.body.pipeThrough(limit()), response) : response;
  };
}

function limit(): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      bytes += chunk.byteLength;
      if (bytes <= MAX_ANSWER_BYTES) controller.enqueue(chunk);
      else controller.error(new RangeError(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`));
    },
  });
}
