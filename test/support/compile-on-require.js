// Preloaded with `node -r`: lets a child process run a TypeScript entry of src without a build.
const { readFileSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { transformSync } = require('@swc/core');

/** @typedef {NodeJS.Module & { _compile(code: string, filename: string): void }} CompilingModule */

/** What is changed in a file before it is compiled, by its path. @type {Map<string, (text: string) => string>} */
const changes = new Map();

module.exports = { changes };

require.extensions['.ts'] = (/** @type {NodeJS.Module} */ module, /** @type {string} */ filename) => {
  const text = readFileSync(filename, 'utf8');
  const { code } = transformSync(changes.get(filename)?.(text) ?? text, {
    filename,
    swcrc: false,
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: true },
    },
  });
  /** @type {CompilingModule} */ (module)._compile(code, filename);
};

/** @typedef {{ _resolveFilename(request: string, ...rest: unknown[]): string }} Resolver */

// Examples import the package by its name, as hosts do; here that is the sources.
const resolver = /** @type {Resolver} */ (/** @type {unknown} */ (Module));
const resolve = resolver._resolveFilename.bind(Module);
const sources = path.join(__dirname, '..', '..', 'src');
const entry = /^nestjs-order-timeout(?:\/(orders|payments|rabbit|timeouts|transactions))?$/;
resolver._resolveFilename = (/** @type {string} */ request, /** @type {unknown[]} */ ...rest) => {
  const [isEntry, room] = entry.exec(request) ?? [];
  const file = room === undefined ? 'index.ts' : path.join('public', `${room}.ts`);
  return resolve(isEntry === undefined ? request : path.join(sources, file), ...rest);
};
