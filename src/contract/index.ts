export { ContractController } from './contract.controller';
