import { MissingPackageError } from '../errors';

/** @throws MissingPackageError instead of Node's "Cannot find module". */
export function assertInstalled(packageName: string, entryPoint: string): void {
  try {
    require.resolve(packageName);
  } catch {
    throw new MissingPackageError(entryPoint, packageName);
  }
}
