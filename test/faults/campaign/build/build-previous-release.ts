import { transformSync } from '@swc/core';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { unpackPreviousRelease } from '../../../support/previous-release';

/** The release before, built: where it lies, and how to remove it. */
export interface PreviousBuild {
  readonly dist: string;
  remove(): Promise<void>;
}

/** Compiles without checking types, 2 s: the release was checked when it was made. */
export async function buildPreviousRelease(): Promise<PreviousBuild> {
  const release = await unpackPreviousRelease();
  const { folder } = release;
  const dist = join(folder, 'dist');
  const source = join(folder, 'src');
  for (const entry of readdirSync(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
    const file = join(entry.parentPath, entry.name);
    const target = join(dist, relative(source, file).replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, compile(readFileSync(file, 'utf8'), file));
  }
  return { dist, remove: () => release.remove() };
}

function compile(code: string, filename: string): string {
  return transformSync(code, {
    filename,
    swcrc: false,
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
    },
  }).code;
}
