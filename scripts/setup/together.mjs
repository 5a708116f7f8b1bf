/**
 * @template {readonly [] | readonly ((signal: AbortSignal) => Promise<unknown>)[]} T
 * @typedef {{ [K in keyof T]: Awaited<ReturnType<T[K]>> }} Results
 */

/**
 * Runs several steps side by side. When one fails the others are told to stop and waited for, so that nothing
 * goes on behind the error message.
 *
 * @template {readonly [] | readonly ((signal: AbortSignal) => Promise<unknown>)[]} T
 * @param {AbortSignal | undefined} signal
 * @param {T} steps
 * @returns {Promise<Results<T>>}
 */
export async function together(signal, steps) {
  const controller = new AbortController();
  const either = AbortSignal.any(signal ? [signal, controller.signal] : [controller.signal]);
  /** @type {unknown[]} */
  const errors = [];
  const results = await Promise.allSettled(
    steps.map((step) =>
      step(either).catch((error) => {
        errors.push(error);
        controller.abort(error);
      }),
    ),
  );
  if (errors.length > 0) throw errors[0];
  /** @type {unknown} */
  const values = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  return /** @type {Results<T>} */ (values);
}
