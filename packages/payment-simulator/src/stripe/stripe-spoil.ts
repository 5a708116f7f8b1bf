import { type Reply } from '../reply';
import { type Fault } from '../simulator-input';
import { type StripeResult, toReply } from './stripe-result';

/**
 * The answer as the fault has it on the wire. Faults of signatures, nonces and clocks change nothing, as Stripe's
 * answers carry none of these.
 */
export function spoiled(result: StripeResult, fault: Fault | undefined, now: number): Reply {
  const { status, body } = result;
  switch (fault?.fault) {
    case 'garbage':
      return { type: 'answer', status, body: '<html>Bad gateway</html>', headers: { 'content-type': 'text/html' } };
    case 'unrecognised':
      return toReply({ status, body: { ...body, status: 'maybe' } }, now);
    case 'wrong-reference':
      return toReply({ status, body: { ...body, id: 'pi_of_somebody_else' } }, now);
    default:
      return toReply(result, now);
  }
}
