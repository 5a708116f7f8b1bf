import { CodedError } from './coded-error';

/** An optional package is required and not installed. */
export class MissingPackageError extends CodedError {
  constructor(
    entryPoint: string,
    readonly packageName: string,
  ) {
    super(
      'MISSING_PACKAGE',
      `${entryPoint} needs the package "${packageName}", which is not installed; run: npm install ${packageName}`,
    );
  }
}
