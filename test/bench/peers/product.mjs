import { createRequire } from 'node:module';

// TypeScript, compiled as it is loaded: whoever starts this program preloads the compiler.
const { openEngine } = createRequire(import.meta.url)('../engine/open-engine.ts');

/** @type {import('./shapes.mjs').OpenPeer} */
export const openPeer = (task) => openEngine(task);
