import { type AlipaySimulatedMerchants, generateAlipayMerchants } from './alipay';
import { generateStripeMerchants, type StripeSimulatedMerchants } from './stripe';
import { generateWechatPayMerchants, type WechatPaySimulatedMerchants } from './wechat-pay';

/** The merchants of every built-in protocol, by account, with the keys of both sides. */
export interface SimulatedMerchants {
  readonly alipay: AlipaySimulatedMerchants;
  readonly wechatPay: WechatPaySimulatedMerchants;
  readonly stripe: StripeSimulatedMerchants;
}

/** Those that are given, and otherwise one with new keys, made when it is first needed: RSA takes its time. */
export class LazyMerchants implements SimulatedMerchants {
  private readonly made: { -readonly [K in keyof SimulatedMerchants]?: SimulatedMerchants[K] };

  constructor(given: Partial<SimulatedMerchants> = {}) {
    this.made = { ...given };
  }

  get alipay(): AlipaySimulatedMerchants {
    return (this.made.alipay ??= generateAlipayMerchants());
  }

  get wechatPay(): WechatPaySimulatedMerchants {
    return (this.made.wechatPay ??= generateWechatPayMerchants());
  }

  get stripe(): StripeSimulatedMerchants {
    return (this.made.stripe ??= generateStripeMerchants());
  }

  /** All of them, as JSON. */
  toJSON(): SimulatedMerchants {
    return { alipay: this.alipay, wechatPay: this.wechatPay, stripe: this.stripe };
  }
}
