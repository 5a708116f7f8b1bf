import { readSnippets } from '../support/snippets';

/** The page whose commands these specs run. */
export const PAGE = 'docs/docker.md';

/** The commands of the page, one entry each, without the comments behind them. */
export function documentedCommands(): string[] {
  const scripts = readSnippets('sh').filter(({ page }) => page === PAGE);
  const lines = scripts.flatMap(({ text }) => text.replace(/ *\\\n */g, ' ').split('\n'));
  return lines.map((line) => line.replace(/(^|\s{2,})#.*$/, '').trim()).filter((line) => line !== '');
}

/** Returns the command. Throws if the page does not have it. */
export function documented(command: string): string {
  if (documentedCommands().includes(command)) return command;
  throw new Error(`${PAGE} does not have the command: ${command}`);
}
