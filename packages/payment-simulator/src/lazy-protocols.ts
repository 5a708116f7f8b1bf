import { AlipayProtocol } from './alipay';
import { type ProtocolContext, type SimulatedProtocol } from './protocol';
import { type SimulatedMerchants } from './simulated-merchants';
import { StripeProtocol } from './stripe';
import { WechatPayProtocol } from './wechat-pay';

/** The built-in protocols by provider, each made when it is first needed: its merchants' keys take time. */
export class LazyProtocols {
  private readonly made = new Map<string, SimulatedProtocol>();

  constructor(
    private readonly context: ProtocolContext,
    private readonly merchants: SimulatedMerchants,
  ) {}

  of(provider: string): SimulatedProtocol | undefined {
    const protocol = this.made.get(provider) ?? this.make(provider);
    if (protocol) this.made.set(provider, protocol);
    return protocol;
  }

  private make(provider: string): SimulatedProtocol | undefined {
    switch (provider) {
      case 'alipay':
        return new AlipayProtocol(this.context, this.merchants.alipay);
      case 'wechat-pay':
        return new WechatPayProtocol(this.context, this.merchants.wechatPay);
      case 'stripe':
        return new StripeProtocol(this.context, this.merchants.stripe);
      default:
        return undefined;
    }
  }
}
