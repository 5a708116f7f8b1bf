export {
  assertNever,
  present,
  validInstant,
  withoutUndefined,
  assertOptionsObject,
  findOptionNameProblems,
  findRangeProblems,
  findUnknownOptions,
  ownValue,
  packageVersion,
  parseJson,
} from './checks';
export { CodedError, FailureLog, InvalidOptionsError, messageOf, MissingPackageError } from './errors';
