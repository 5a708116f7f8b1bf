/** Pure: the same numbers from 0 to 1 for every contestant and round; a linear congruence is random enough for deadlines. */
export function seededRandom(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
