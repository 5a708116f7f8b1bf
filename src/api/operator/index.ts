export { findOperatorKeyProblems, OperatorKeys } from './operator-keys';
export { OPERATOR_CONTROLLERS } from './operator.controllers';
export { OPERATOR_PAGE_PROVIDERS } from './operator.providers';
