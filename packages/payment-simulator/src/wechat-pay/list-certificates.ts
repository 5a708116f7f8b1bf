import { X509Certificate } from 'node:crypto';
import { beijingTime } from './beijing-time';
import { sealForShop } from './seal-for-shop';
import { type WechatPaySimulatedMerchant } from './wechat-pay-merchants';
import { type WechatPayResult } from './wechat-pay-result';

/** `GET /v3/certificates`: every platform certificate that is valid, encrypted for the shop. */
export function listCertificates({ platform, options }: WechatPaySimulatedMerchant, now: number): WechatPayResult {
  const data = platform.flatMap(({ serial, certificate }) => {
    if (certificate === undefined) return [];
    const { validFrom, validTo } = new X509Certificate(certificate);
    if (Date.parse(validTo) <= now) return [];
    return {
      serial_no: serial,
      effective_time: beijingTime(validFrom),
      expire_time: beijingTime(validTo),
      encrypt_certificate: sealForShop(certificate, options.apiV3Key, 'certificate'),
    };
  });
  return { status: 200, body: { data } };
}
