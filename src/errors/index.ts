export { assertNever } from './assert-never';
export { CodedError } from './coded-error';
export { withoutUndefined } from './without-undefined';
export { InvalidOptionsError } from './invalid-options-error';
export { assertOptionsObject } from './assert-options-object';
export { findStrayOptions } from './find-stray-options';
export { findUnknownOptions } from './find-unknown-options';
export { MissingPackageError } from './missing-package-error';
