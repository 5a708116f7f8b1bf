/**
 * A Mermaid state diagram of a table of transitions. A state that no other leads to is a start, one that leads nowhere an end.
 *
 * @param labelOf what is written on every arrow to a state; undefined: nothing.
 */
export function stateDiagram<S extends string>(
  states: readonly S[],
  nextOf: (state: S) => readonly S[],
  labelOf: (state: S) => string | undefined,
): string {
  const reached = new Set(states.flatMap(nextOf));
  const starts = states.filter((state) => !reached.has(state)).map((state) => `[*] --> ${state}`);
  const steps = states.flatMap((from) =>
    nextOf(from).map((to) => `${from} --> ${to}${labelOf(to) ? `: ${labelOf(to)}` : ''}`),
  );
  const ends = states.filter((state) => nextOf(state).length === 0).map((state) => `${state} --> [*]`);
  const lines = [...starts, ...steps, ...ends].map((line) => `  ${line}`);
  return ['```mermaid', 'stateDiagram-v2', ...lines, '```'].join('\n');
}
