import { dirname, join } from 'node:path';

/** A file of the installed package, absolute. */
export function productFile(path: string): string {
  return join(dirname(require.resolve('nestjs-order-timeout/package.json')), path);
}
