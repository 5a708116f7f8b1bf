export { assertNever } from './assert-never';
export { CodedError } from './coded-error';
export { InvalidOptionsError } from './invalid-options-error';
