export {
  assertNever,
  present,
  validInstant,
  withoutUndefined,
  assertOptionsObject,
  findOptionNameProblems,
  findRangeProblems,
  findUnknownOptions,
  integer,
  oneOf,
  optionsOf,
  parseOptions,
  readOptions,
  ownValue,
  packageVersion,
  parseJson,
} from './checks';
export { CodedError, FailureLog, InvalidOptionsError, messageOf, MissingPackageError } from './errors';
