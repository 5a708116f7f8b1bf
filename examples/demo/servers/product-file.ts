import { dirname, join } from 'node:path';

/** A file of the repository, by its path from the folder of the product's package.json. */
export function productFile(path: string): string {
  return join(dirname(require.resolve('nestjs-order-timeout/package.json')), path);
}
