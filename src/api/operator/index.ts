export { OPERATOR_CONTROLLERS, OPERATOR_PAGE_PROVIDERS } from './operator.providers';
