import { type Reply } from '../reply';
import { type Fault } from '../simulator-input';
import { type AlipaySimulatedMerchant } from './alipay-merchants';
import { signRsa2 } from './alipay-signature';

/** Fields of the signed part of an answer. */
export type AlipayBody = Readonly<Record<string, string>>;

/** The answer that Alipay gives by `code` and `sub_code`, and what it adds. */
export function alipayError(code: string, subCode: string, more: AlipayBody = {}): AlipayBody {
  const messages: Readonly<Record<string, string>> = {
    '20000': 'Service Currently Unavailable',
    '40002': 'Invalid Arguments',
    '40004': 'Business Failed',
    '40005': 'Call Limited',
  };
  return { code, msg: messages[code] ?? 'Unknown', sub_code: subCode, sub_msg: `模拟的错误 ${subCode}`, ...more };
}

/** A refusal without a known merchant: there is no key to sign with. */
export function unsignedError(subCode: string): Reply {
  return { type: 'answer', status: 200, body: JSON.stringify({ error_response: alipayError('40002', subCode) }) };
}

/** Signs the raw text of the answer, and then spoils it where a fault says so. */
export function signedAnswer(
  merchant: AlipaySimulatedMerchant,
  method: string,
  body: AlipayBody,
  fault: Fault | undefined,
): Reply {
  if (fault?.fault === 'garbage') return { type: 'answer', status: 200, body: '<html>Bad gateway</html>' };
  // With `\/` for every slash, as Alipay writes JSON: who signs what he parsed and wrote again gets another text.
  const raw = JSON.stringify(spoil(body, fault)).replaceAll('/', '\\/');
  const signed = fault?.fault === 'wrong-signature' ? `${raw} ` : raw;
  const sign = fault?.fault === 'unsigned' ? '' : `,"sign":"${signRsa2(signed, merchant.alipayPrivateKey)}"`;
  const text = `{"${method.replaceAll('.', '_')}_response":${raw}${sign}}`;
  return { type: 'answer', status: 200, body: text, headers: { 'content-type': 'text/html;charset=utf-8' } };
}

/** These faults are signed correctly: a verified answer may still be none to our question, or mean nothing. */
function spoil(body: AlipayBody, fault: Fault | undefined): AlipayBody {
  if (fault?.fault === 'wrong-reference') return { ...body, out_trade_no: 'another-reference' };
  if (fault?.fault !== 'unrecognised') return body;
  return 'trade_status' in body ? { ...body, trade_status: 'MAYBE' } : { ...body, code: '10003' };
}
