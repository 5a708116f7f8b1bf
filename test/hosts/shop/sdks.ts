import { AlipayProvider } from 'nestjs-order-timeout/alipay';
import { StripeProvider } from 'nestjs-order-timeout/stripe';
import { describePaymentProvider } from 'nestjs-order-timeout/testing';
import { WechatPayProvider } from 'nestjs-order-timeout/wechat-pay';

/** Every other entry point, for a host that has installed the SDKs. */
const found = [AlipayProvider, StripeProvider, WechatPayProvider, describePaymentProvider].map(({ name }) => name);

process.stdout.write(`${JSON.stringify(found)}\n`);
