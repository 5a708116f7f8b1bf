import { createRequire } from 'node:module';

// TypeScript, compiled as it is loaded: whoever starts this program preloads the compiler.
/** @typedef {typeof import('../engine/open-engine.js')} Engine */
/** @type {unknown} */
const engine = createRequire(import.meta.url)('../engine/open-engine.ts');
const { openEngine } = /** @type {Engine} */ (engine);

/** @type {import('./shapes.mjs').OpenPeer} */
export const openPeer = (task) => openEngine(/** @type {Parameters<Engine['openEngine']>[0]} */ (task));
