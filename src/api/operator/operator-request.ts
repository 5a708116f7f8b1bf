import { type ApiRequest } from '../http';
import { type OperatorSession } from './operator-sessions';

/** A request of the operator page. */
export interface OperatorRequest extends ApiRequest {
  /** Set when the guard admits the request. Absent on routes that need no session. */
  operatorSession?: OperatorSession;
}
