import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const REPOSITORY = join(__dirname, '../..');

/** A block of code in a page. */
export interface Snippet {
  readonly page: string;
  /** Of its first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
  /** What the comment above the block says to the tests, and not to readers. */
  readonly note: string;
}

const FENCE = /^( *)```(\w*)$/;
const NOTE = '<!-- snippet';

/**
 * All snippets of the documentation. A snippet that is a part of something has the rest in a comment right above it:
 *
 *     <!-- snippet
 *     declare const order: OrderView;
 *     -->
 *
 * `file=name.ts` in its first line names the file that other snippets of the page import.
 */
export function readSnippets(language?: string): Snippet[] {
  const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: REPOSITORY, encoding: 'utf8' }).trim().split('\n');
  const all = pages.flatMap(snippetsOf);
  return language === undefined ? all : all.filter((snippet) => snippet.language === language);
}

/** The place of a snippet, for the name of its test. */
export function placeOf({ page, line }: Snippet): string {
  return `${page}:${line}`;
}

function snippetsOf(page: string): Snippet[] {
  const lines = readFileSync(join(REPOSITORY, page), 'utf8').split('\n');
  const snippets: Snippet[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const [, indent = '', language = ''] = FENCE.exec(lines[at] ?? '') ?? [undefined];
    if (!FENCE.test(lines[at] ?? '')) continue;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end < 0) throw new Error(`${page}:${at + 1}: the block has no end`);
    const text = lines.slice(at + 1, end).map((line) => line.slice(indent.length));
    snippets.push({ page, line: at + 2, language, text: `${text.join('\n')}\n`, note: noteAbove(lines.slice(0, at)) });
    at = end;
  }
  return snippets;
}

function noteAbove(lines: readonly string[]): string {
  const above = lines.join('\n').trimEnd();
  const start = above.lastIndexOf(NOTE);
  const isNext = start >= 0 && above.indexOf('-->', start) === above.length - '-->'.length;
  return isNext ? above.slice(start + NOTE.length, -'-->'.length) : '';
}
