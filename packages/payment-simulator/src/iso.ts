/** The ISO string of an instant (epoch milliseconds), or null if there was none. */
export function iso(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString();
}
