// node build.mjs [folder]: builds the operator page into dist/operator-page of the package, or into another folder:
// index.html, and files with their hash in their name.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const source = join(dirname(fileURLToPath(import.meta.url)), 'src');
const output = process.argv[2] ? resolve(process.argv[2]) : join(source, '../../../dist/operator-page');

const { outputFiles } = await build({
  entryPoints: { app: join(source, 'main.tsx') },
  outdir: output,
  entryNames: '[name]-[hash]',
  bundle: true,
  minify: true,
  write: false,
  format: 'esm',
  // The first with light-dark(), a dialog element, and AbortSignal.any.
  target: ['chrome123', 'firefox124', 'safari17.5'],
  charset: 'utf8',
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  tsconfigRaw: {},
  logLevel: 'warning',
});

rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });
let index = readFileSync(join(source, 'index.html'), 'utf8');
for (const { path, contents } of outputFiles) {
  const name = basename(path);
  index = index.replace(name.endsWith('.css') ? '{{styles}}' : '{{script}}', name);
  writeFileSync(join(output, name), contents);
}
writeFileSync(join(output, 'index.html'), index);
