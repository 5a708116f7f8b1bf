/** A word as code. */
export function code(text: string): string {
  return `\`${text}\``;
}

/** Words as code in a table cell; a dash if there are none. */
export function listOf(words: readonly string[]): string {
  return words.length === 0 ? '–' : words.map(code).join(', ');
}
