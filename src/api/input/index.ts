export { RequestRejectedError, type RejectionCode } from './request-rejected-error';
export { newOrdersSchema } from './new-orders-schema';
export { parseInput } from './parse-input';
export { accepted, notFound, reject } from './reject';
export { InputPipe } from './input-pipe';
export { rejectStock } from './reject-stock';
export { type StockChange, stockChangeSchema } from './stock-change-schema';
export { rejectOperator } from './reject-operator';
