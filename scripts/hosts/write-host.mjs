import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../setup/paths.mjs';
import { moduleFor, resolutions } from './installations.mjs';

const sources = join(repository, 'test', 'hosts', 'shop');
/**
 * Writes the folder of a host below its packages.
 *
 * @param {import('./installations.mjs').Installation} installation
 * @param {{ format: import('./installations.mjs').Format, parent: string }} options
 * @returns {string} the folder, with a tsconfig file for each resolution
 */
export function writeHost(installation, { format, parent }) {
  const { adapter, hasSdks = false } = installation;
  const folder = join(parent, format);
  mkdirSync(folder);
  writeJson(join(folder, 'package.json'), { private: true, type: format });
  const left = [`${adapter === 'express' ? 'fastify' : 'express'}.ts`, ...(hasSdks ? [] : ['sdks.ts'])];
  const filter = (/** @type {string} */ path) => !left.some((name) => path.endsWith(`/${name}`));
  cpSync(sources, join(folder, 'src'), { recursive: true, filter });
  for (const one of resolutions) {
    const compilerOptions = optionsOf({ module: moduleFor(installation, one), moduleResolution: one });
    writeJson(join(folder, `tsconfig.${one}.json`), { compilerOptions });
  }
  return folder;
}

/** As strict as hosts are. @param {{ module: string, moduleResolution: string }} modules */
const optionsOf = (modules) => ({
  target: 'ES2022',
  ...modules,
  types: ['node'],
  rootDir: './src',
  outDir: './dist',
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  esModuleInterop: true,
});

/** @param {string} path @param {unknown} value */
const writeJson = (path, value) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
