export { assertNever } from './assert-never';
export { CodedError } from './coded-error';
export { present } from './present';
export { validInstant } from './valid-instant';
export { withoutUndefined } from './without-undefined';
export { InvalidOptionsError } from './invalid-options-error';
