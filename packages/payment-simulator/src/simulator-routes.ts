import { parseJson } from './parse-json';
import { pathSegments } from './path-segments';
import { type SimulatedProtocol } from './protocol';
import { OWN_PROVIDER } from './provider-endpoint';
import { jsonReply, type Reply, type SimulatorRequest } from './reply';
import { type ScriptEndpoint } from './script-endpoint';

/** Finds who answers a request. */
export class SimulatorRoutes {
  constructor(
    private readonly protocolOf: (provider: string) => SimulatedProtocol | undefined,
    private readonly script: ScriptEndpoint,
  ) {}

  async reply(request: SimulatorRequest): Promise<Reply> {
    const [room = '', ...rest] = pathSegments(request.path);
    if (room === 'payments') return this.replyToPayment(request, rest);
    if (room === 'script') return this.replyToScript(request, rest);
    const protocol = room === OWN_PROVIDER ? undefined : this.protocolOf(room);
    return protocol ? protocol.answer(withoutRoom(request)) : notFound(request);
  }

  private async replyToPayment(request: SimulatorRequest, [reference = '', action]: string[]): Promise<Reply> {
    if (request.method === 'POST' && action === 'pay') return this.script.pay({ provider: OWN_PROVIDER, reference });
    return this.protocolOf(OWN_PROVIDER)?.answer(request) ?? notFound(request);
  }

  private replyToScript(request: SimulatorRequest, [subject = '', ...rest]: string[]): Reply {
    switch (`${request.method} ${subject} ${rest.length}`) {
      case 'POST payments 0':
        return this.script.createPayment(parseJson(request.body));
      case 'POST payments 2':
        return this.replyToPaymentScript(request, [OWN_PROVIDER, ...rest]);
      case 'POST payments 3':
        return this.replyToPaymentScript(request, rest);
      case 'POST faults 0':
        return this.script.addFault(parseJson(request.body));
      case 'DELETE faults 0':
        return this.script.clearFaults();
      case 'GET ledger 0':
        return this.script.showLedger();
      case 'GET merchants 0':
        return this.script.showMerchants();
      default:
        return notFound(request);
    }
  }

  private replyToPaymentScript(request: SimulatorRequest, [provider = '', reference = '', action]: string[]): Reply {
    const key = { provider, reference, account: request.query.get('account') ?? undefined };
    switch (action) {
      case 'script':
        return this.script.rescript(key, parseJson(request.body));
      case 'refund':
        return this.script.refund(key, parseJson(request.body));
      case 'fail-refund':
        return this.script.failRefund(key);
      case 'dispute':
        return this.script.dispute(key);
      case 'scan':
        return this.script.scan(key);
      case 'pay':
        return this.script.pay(key);
      default:
        return notFound(request);
    }
  }
}

/** `/stripe/v1/refunds?x=1` as the protocol knows it: `/v1/refunds?x=1`. */
function withoutRoom(request: SimulatorRequest): SimulatorRequest {
  return { ...request, path: request.path.replace(/^\/[^/?]*/, '') || '/' };
}

function notFound({ method, path }: SimulatorRequest): Reply {
  return jsonReply(404, { error: `there is nothing at ${method} ${path}` });
}
