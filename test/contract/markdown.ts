/** A word as code. */
export function code(text: string): string {
  return `\`${text}\``;
}
