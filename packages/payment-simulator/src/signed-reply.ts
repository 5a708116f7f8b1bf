import { httpSignature } from './http-signature';
import { type Reply, type SimulatorRequest } from './reply';
import { type Fault } from './simulator-input';

interface Signing {
  readonly request: SimulatorRequest;
  readonly secret: string;
  readonly httpStatus: number;
  /** What is to be wrong with the answer. */
  readonly fault: Fault | undefined;
  readonly nowMs: number;
}

/** Signs an answer as the provider would, and then spoils it where a fault says so. */
export function signedReply(signing: Signing, answer: Readonly<Record<string, unknown>>): Reply {
  const { request, httpStatus: status, fault, nowMs } = signing;
  const body = bodyOf(fault, { ...answer, now: new Date(nowMs).toISOString() });
  const skew = fault?.fault === 'skewed-clock' ? fault.seconds : 0;
  const timestamp = String(Math.floor(nowMs / 1_000) + skew);
  const secret = fault?.fault === 'wrong-signature' ? 'the-secret-of-somebody-else' : signing.secret;
  const signature = httpSignature(secret, [timestamp, `${request.method} ${request.path}`, String(status)], body);
  const headers = { 'x-timestamp': timestamp, 'x-signature': signature };
  return { type: 'answer', status, body, headers: fault?.fault === 'unsigned' ? {} : headers };
}

/** These faults are signed correctly: a verified answer may still be none to our question, or mean nothing. */
function bodyOf(fault: Fault | undefined, answer: Readonly<Record<string, unknown>>): string {
  switch (fault?.fault) {
    case 'garbage':
      return '<html>Bad gateway</html>';
    case 'wrong-reference':
      return JSON.stringify({ ...answer, reference: 'another-reference' });
    case 'wrong-nonce':
      return JSON.stringify({ ...answer, nonce: 'an-old-nonce' });
    case 'unrecognised':
      return JSON.stringify({ ...answer, status: 'MAYBE' });
    default:
      return JSON.stringify(answer);
  }
}
