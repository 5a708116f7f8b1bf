import { type Patch } from './patch';

/** The pool of a host that has written down nothing but the URL. */
export const BARE_POOL: Patch = {
  name: 'bare-pool',
  file: 'service/create-service.js',
  find: 'extra: {',
  replace: 'unused: {',
};
