import { type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createInterface } from 'node:readline';

/**
 * What a script of scripts/ says of the servers that it runs: one JSON line per event, one event per command.
 *
 * @param name of the servers, for errors. @param fatal events after which there is nothing to go on with.
 */
export function scriptAnswers<E extends { readonly event?: string }>(
  child: ChildProcessWithoutNullStreams,
  name: string,
  fatal: readonly string[] = ['error'],
): { next(): Promise<E> } {
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-4_000)));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { value, done } = (await lines.next()) as IteratorResult<string, undefined>;
      if (done) throw new Error(`${name} ended: ${stderr}`);
      const event = JSON.parse(value) as E;
      if (fatal.includes(event.event ?? '')) throw new Error(`${name} failed: ${value} ${stderr}`);
      return event;
    },
  };
}
