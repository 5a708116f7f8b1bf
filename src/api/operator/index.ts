export { findOperatorKeyProblems, OperatorKeys } from './operator.guard';
export { OPERATOR_CONTROLLERS, OPERATOR_PAGE_PROVIDERS } from './operator.providers';
