export { assertNever } from './assert-never';
export { CodedError } from './coded-error';
export { withoutUndefined } from './without-undefined';
export { InvalidOptionsError } from './invalid-options-error';
export { ownValue } from './own-value';
