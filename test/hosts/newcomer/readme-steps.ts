import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSnippets, REPOSITORY } from '../../support/snippets';

/** Commands that a reader types, and waits for or leaves running. */
export interface Step {
  readonly type: 'run' | 'start';
  readonly text: string;
  /** A condition of the reader, such as a version. Absent: for everybody. */
  readonly only: string | undefined;
}

/**
 * The blocks of code below a heading of README.md, in their order. The comment above a block says what its reader is told
 * by the sentence there: `file=…` saves it, `keeps-running` leaves it running, `only=…` is a condition.
 */
export function readSteps(heading: string): Step[] {
  const lines = readFileSync(join(REPOSITORY, 'README.md'), 'utf8').split('\n');
  const start = lines.indexOf(heading) + 1;
  if (start === 0) throw new Error(`README.md has no heading ${heading}`);
  const length = lines.slice(start).findIndex((line) => /^##/.test(line));
  return readSnippets()
    .filter(({ page, line }) => page === 'README.md' && line > start && line <= start + length)
    .filter(({ language }) => language !== 'text')
    .map(({ language, text, note }): Step => {
      const [, file] = /file=(\S+)/.exec(note) ?? [];
      const [, only] = /only=(\S+)/.exec(note) ?? [];
      if (file !== undefined) return { type: 'run', text: `cat > ${file} <<'END_OF_FILE'\n${text}END_OF_FILE`, only };
      if (language !== 'sh') throw new Error(`README.md does not say what to do with: ${text}`);
      return { type: note.includes('keeps-running') ? 'start' : 'run', text, only };
    });
}
