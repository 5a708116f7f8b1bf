/** Rejects when `signal` aborts. Node keeps a combined signal forever while somebody listens to it, so call `forget`. */
export function rejectedBy(signal: AbortSignal, ms: number): { promise: Promise<never>; forget(): void } {
  let abort = (): void => undefined;
  const promise = new Promise<never>((_resolve, reject) => {
    abort = () => reject(new Error(`lookUp() did not end within ${ms} ms`));
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  return { promise, forget: () => signal.removeEventListener('abort', abort) };
}
