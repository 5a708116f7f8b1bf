/** What an arrow comes from at the start, and leads to at the end. */
export const OUTSIDE = '[*]';

/** An arrow of a diagram, with what is written on it. */
export interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label?: string | undefined;
}

/**
 * The arrows of a table of transitions. A state that leads nowhere is an end.
 *
 * @param labelOf what is written on every arrow to a state; undefined: nothing.
 */
export function arrowsOf<S extends string>(
  states: readonly S[],
  nextOf: (state: S) => readonly S[],
  { starts, labelOf }: { readonly starts: readonly S[]; readonly labelOf?: (state: S) => string | undefined },
): Arrow[] {
  const begins = starts.map((to) => ({ from: OUTSIDE, to }));
  const steps = states.flatMap((from) => nextOf(from).map((to) => ({ from, to, label: labelOf?.(to) })));
  const ends = states.filter((state) => nextOf(state).length === 0).map((from) => ({ from, to: OUTSIDE }));
  return [...begins, ...steps, ...ends];
}

/** A Mermaid state diagram. */
export function stateDiagram(arrows: readonly Arrow[]): string {
  const lines = arrows.map(({ from, to, label }) => `  ${from} --> ${to}${label === undefined ? '' : `: ${label}`}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}
