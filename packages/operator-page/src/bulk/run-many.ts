import { ApiProblem } from '../api/api-problem';

/** How far an action on many things is. */
export interface ManyProgress {
  readonly done: number;
  readonly changed: number;
  /** How many the service refused, by the code that it gave. The others were changed already. */
  readonly refused: Readonly<Record<string, number>>;
}

export const NOT_BEGUN: ManyProgress = { done: 0, changed: 0, refused: {} };

/** What the service says of one thing that does not fit, while others may. */
const REFUSALS = [404, 409, 422];

/**
 * Handles many things, one part after the other. It may be stopped between two parts.
 *
 * @param perform handles a part, and returns how many of it changed
 * @param onProgress after each part
 * @throws ApiProblem unless it concerns a part of one thing only
 */
export async function runMany<T>(
  parts: Iterable<readonly T[]> | AsyncIterable<readonly T[]>,
  perform: (part: readonly T[]) => Promise<number>,
  onProgress: (progress: ManyProgress) => void,
  signal: AbortSignal,
): Promise<ManyProgress> {
  let progress = NOT_BEGUN;
  for await (const part of parts) {
    if (signal.aborted) break;
    const { changed, refused } = await performPart(part, perform, progress.refused);
    progress = { done: progress.done + part.length, changed: progress.changed + changed, refused };
    onProgress(progress);
  }
  return progress;
}

async function performPart<T>(
  part: readonly T[],
  perform: (part: readonly T[]) => Promise<number>,
  refused: ManyProgress['refused'],
): Promise<Pick<ManyProgress, 'changed' | 'refused'>> {
  try {
    return { changed: await perform(part), refused };
  } catch (error) {
    const isOne = part.length === 1 && error instanceof ApiProblem && REFUSALS.includes(error.status);
    if (!isOne) throw error;
    return { changed: 0, refused: { ...refused, [error.code]: (refused[error.code] ?? 0) + 1 } };
  }
}

/** Parts of at most `size`. */
export function* partsOf<T>(things: readonly T[], size: number): Generator<readonly T[]> {
  for (let at = 0; at < things.length; at += size) yield things.slice(at, at + size);
}
