import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** A file of the page. */
export interface OperatorFile {
  readonly type: string;
  /** It may be kept forever, because its name changes with its content. */
  readonly isHashed: boolean;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** A name such as `app-3f9a2c1b.js`. */
const HASHED = /-[\w-]{8,}\.(js|css|svg)$/;

/** It is as far from this file in `src` as in `dist`. */
const BUILT = join(__dirname, '../../../dist/operator-page');

/**
 * The built files of the page. They are read once, at the first request, and a request can name only what was read then: no
 * path is ever made from a request.
 */
export class OperatorFiles {
  private files: ReadonlyMap<string, OperatorFile> | undefined;

  /** @param directory where the build has written the page. */
  constructor(private readonly directory = BUILT) {}

  /** Undefined: there is no such file. */
  get(name: string): OperatorFile | undefined {
    this.files ??= readFiles(this.directory);
    return this.files.get(name);
  }
}

/** Empty if the page was not built, as in a clone before `npm run build`. */
function readFiles(directory: string): ReadonlyMap<string, OperatorFile> {
  const names = namesIn(directory).filter((name) => extname(name) in TYPES);
  return new Map(names.map((name) => [name, read(directory, name)]));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function read(directory: string, name: string): OperatorFile {
  const plain = readFileSync(join(directory, name));
  const type = TYPES[extname(name)] ?? 'application/octet-stream';
  return { type, isHashed: HASHED.test(name), plain, gzipped: gzipSync(plain) };
}
