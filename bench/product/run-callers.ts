/**
 * So many callers who each wait for an answer before they ask again.
 *
 * @returns seconds from the first call to the last answer.
 */
export async function runCallers(
  callers: number,
  calls: number,
  call: (n: number) => Promise<unknown>,
): Promise<number> {
  const numbers = Array.from({ length: calls }, (_, n) => n).values();
  const caller = async (): Promise<void> => {
    for (const n of numbers) await call(n);
  };
  const beganAt = performance.now();
  await Promise.all(Array.from({ length: callers }, caller));
  return (performance.now() - beganAt) / 1_000;
}
