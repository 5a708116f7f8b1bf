/**
 * @typedef {'express' | 'fastify'} Adapter
 * @typedef {object} Installation  the packages of some hosts
 * @property {string} name
 * @property {string} nest
 * @property {string} typeorm
 * @property {Adapter} adapter
 * @property {string} typescript
 * @property {Record<string, string>} [others]  versions of other packages
 * @property {boolean} [hasSdks]
 */

/** The lowest versions that the peer ranges of package.json allow. */
export const LOWEST = { nest: '11.0.1', typeorm: '0.3.20', pg: '8.16.0', rxjs: '7.8.0', 'reflect-metadata': '0.2.0' };

/**
 * Every pair of two values of NestJS, TypeORM, and adapter, and the lowest versions.
 *
 * @type {Installation[]}
 */
export const installations = [
  {
    name: 'lowest',
    nest: LOWEST.nest,
    typeorm: LOWEST.typeorm,
    adapter: 'express',
    typescript: '~5.7',
    others: LOWEST,
  },
  { name: 'nest-11-express', nest: '^11', typeorm: '^0.3', adapter: 'express', typescript: '~5.9' },
  { name: 'nest-11-fastify', nest: '^11', typeorm: '^1', adapter: 'fastify', typescript: '~5.9' },
  { name: 'nest-12-fastify', nest: '^12', typeorm: '^0.3', adapter: 'fastify', typescript: '~6.0' },
  { name: 'nest-12-express', nest: '^12', typeorm: '^1', adapter: 'express', typescript: '~6.0', hasSdks: true },
];

/** @typedef {'commonjs' | 'module'} Format */
/** @type {Format[]} */
export const formats = ['commonjs', 'module'];

const majorOf = (/** @type {string} */ range) => Number(/\d+/.exec(range)?.[0]);

/** The values of `moduleResolution` that fit Node.js. */
export const resolutions = /** @type {const} */ (['node16', 'nodenext', 'bundler']);

/**
 * `module` for a value of `moduleResolution`. `node16` lets no CommonJS file import NestJS 12, which is published as ES
 * modules, and `node20` does.
 *
 * @param {Installation} installation
 * @param {typeof resolutions[number]} resolution
 */
export function moduleFor({ nest }, resolution) {
  if (resolution === 'bundler') return 'preserve';
  return resolution === 'node16' && majorOf(nest) >= 12 ? 'node20' : resolution;
}

/**
 * The packages of a host before it installs ours.
 *
 * @param {Installation} installation
 * @param {Record<string, string>} sdks
 */
export function packagesOf({ nest, typeorm, adapter, typescript, others, hasSdks = false }, sdks) {
  return {
    dependencies: {
      '@nestjs/common': nest,
      '@nestjs/core': nest,
      // npm installs it with the product, as a peer, in the version that fits.
      ...(others && { '@nestjs/microservices': nest }),
      [`@nestjs/platform-${adapter}`]: nest,
      '@nestjs/typeorm': `^${majorOf(nest)}`,
      amqplib: '^2',
      pg: others?.pg ?? '^8',
      'reflect-metadata': others?.['reflect-metadata'] ?? '^0.2',
      rxjs: others?.rxjs ?? '^7',
      typeorm,
      ...(hasSdks ? sdks : {}),
    },
    devDependencies: {
      '@types/node': '^20',
      // The declarations of @nestjs/platform-express import them.
      ...(adapter === 'express' ? { '@types/express': '^5' } : {}),
      typescript,
    },
  };
}
