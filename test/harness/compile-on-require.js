// Preloaded with `node -r`: lets a child process run a TypeScript entry of src without a build.
const { readFileSync } = require('node:fs');
const { transformSync } = require('@swc/core');

/** @typedef {NodeJS.Module & { _compile(code: string, filename: string): void }} CompilingModule */

require.extensions['.ts'] = (/** @type {NodeJS.Module} */ module, /** @type {string} */ filename) => {
  const { code } = transformSync(readFileSync(filename, 'utf8'), {
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
