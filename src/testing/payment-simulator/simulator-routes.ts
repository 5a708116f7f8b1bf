import { type ProviderEndpoint } from './provider-endpoint';
import { jsonReply, type Reply, type SimulatorRequest } from './reply';
import { type ScriptEndpoint } from './script-endpoint';

/** Finds who answers a request. */
export class SimulatorRoutes {
  constructor(
    private readonly provider: ProviderEndpoint,
    private readonly script: ScriptEndpoint,
  ) {}

  async reply(request: SimulatorRequest): Promise<Reply> {
    const [room, ...rest] = request.path.replace(/\?.*$/s, '').split('/').slice(1).map(decodeSegment);
    if (room === 'payments') return this.replyToPayment(request, rest);
    if (room === 'script') return this.replyToScript(request, rest);
    return notFound(request);
  }

  private async replyToPayment(request: SimulatorRequest, [reference, action, extra]: string[]): Promise<Reply> {
    if (reference === undefined || extra !== undefined) return notFound(request);
    switch (`${request.method} ${action ?? ''}`) {
      case 'GET ':
        return this.provider.answer('query', reference, request);
      case 'POST close':
        return this.provider.answer('close', reference, request);
      case 'POST pay':
        return this.script.pay(reference);
      default:
        return notFound(request);
    }
  }

  private replyToScript(request: SimulatorRequest, [subject, reference, action]: string[]): Reply {
    if (subject === 'payments' && reference !== undefined && request.method === 'POST' && action === 'refund') {
      return this.script.refund(reference);
    }
    switch (reference === undefined ? `${request.method} ${subject ?? ''}` : '') {
      case 'POST payments':
        return this.script.createPayment(parseJson(request.body));
      case 'POST faults':
        return this.script.addFault(parseJson(request.body));
      case 'DELETE faults':
        return this.script.clearFaults();
      case 'GET ledger':
        return this.script.showLedger();
      default:
        return notFound(request);
    }
  }
}

function notFound({ method, path }: SimulatorRequest): Reply {
  return jsonReply(404, { error: `there is nothing at ${method} ${path}` });
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** undefined for what is not JSON: the schemas then say what they expected. */
function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}
