export {
  assertNever,
  present,
  validInstant,
  withoutUndefined,
  assertOptionsObject,
  integer,
  oneOf,
  optionsOf,
  parseOptions,
  readOptions,
  recordOf,
  ownValue,
  packageVersion,
  parseJson,
} from './checks';
export { CodedError, FailureLog, InvalidOptionsError, messageOf, MissingPackageError } from './errors';
