import { z } from 'zod';
import { type Clock } from '../../clock';
import { type MerchantAccounts } from '../merchant-accounts';
import {
  type Notification,
  type NotificationReader,
  type NotificationReply,
  type NotificationRequest,
  type NotificationVerdict,
} from '../payment-notification';
import { findMismatch } from './map-query';
import { openSealed, sealedSchema } from './open-sealed';
import { parseJson } from './parse-json';
import { toPaid, transactionSchema } from './transaction';
import { type SignedMessage, verifyMessage } from './verify-message';
import { type ResolvedWechatPayMerchant } from './wechat-pay-options';

const notificationSchema = z.object({ id: z.string(), event_type: z.string(), resource: sealedSchema });
type Envelope = z.output<typeof notificationSchema>;

/** The resource of a notification about a refund. */
const refundSchema = z.object({
  mchid: z.string(),
  out_trade_no: z.string().min(1),
  out_refund_no: z.string(),
  refund_id: z.string().optional(),
  refund_status: z.string().optional(),
});

/** WeChat Pay redelivers until the answer is 200 or 204: 15 times within 24 h. */
const REPLIES: Readonly<Record<NotificationVerdict, NotificationReply>> = {
  accepted: { status: 204, body: '' },
  later: fail(500, 'not written down yet; deliver it again'),
  rejected: fail(401, 'not verified'),
};

/**
 * Reads WeChat Pay's notifications of payments and refunds. The merchant is named only in the encrypted part, so every
 * configured merchant that has the signing key is tried.
 */
export class WechatPayNotifications implements NotificationReader {
  constructor(
    private readonly merchants: MerchantAccounts<ResolvedWechatPayMerchant>,
    private readonly clock: Clock,
  ) {}

  async read(request: NotificationRequest): Promise<Notification> {
    const message = toMessage(request);
    let reason: string | undefined;
    for (const [account, merchant] of this.merchants.entries()) {
      const verification = verifyMessage(message, merchant.platformKeys, this.clock.now());
      if (verification.type === 'UNVERIFIED') {
        // "Unknown key" is the weakest reason: a merchant that has the key knows what is wrong.
        if (verification.unknownSerial === undefined) reason = verification.reason;
        else reason ??= verification.reason;
        continue;
      }
      const notification = readVerified(message.rawBody, account, merchant);
      if (notification.type !== 'REJECTED') return notification;
      reason = notification.reason;
    }
    return { type: 'REJECTED', reason: `notification is not trusted: ${reason ?? 'no merchant is configured'}` };
  }

  reply(verdict: NotificationVerdict): NotificationReply {
    return REPLIES[verdict];
  }
}

function readVerified(rawBody: Buffer, account: string, merchant: ResolvedWechatPayMerchant): Notification {
  const envelope = notificationSchema.safeParse(parseJson(rawBody)).data;
  if (!envelope) return rejected('its body does not have the documented format');
  const plaintext = openSealed(envelope.resource, merchant.apiV3Key);
  if (plaintext === undefined) return rejected('its resource cannot be decrypted with the APIv3 key');
  const resource = parseJson(plaintext);
  if (envelope.event_type === 'TRANSACTION.SUCCESS') return readPayment(envelope, resource, account, merchant);
  if (envelope.event_type.startsWith('REFUND.')) return readRefund(envelope, resource, account, merchant);
  return { type: 'IGNORED', reason: `event ${JSON.stringify(envelope.event_type.slice(0, 64))} changes no payment` };
}

function readPayment(
  { id, event_type }: Envelope,
  resource: unknown,
  account: string,
  merchant: ResolvedWechatPayMerchant,
): Notification {
  const transaction = transactionSchema.safeParse(resource).data;
  if (!transaction) return rejected('its resource is not a payment');
  const reference = transaction.out_trade_no;
  const mismatch = findMismatch(transaction, merchant, reference);
  if (mismatch) return rejected(`it is about another merchant (${mismatch})`);
  const about = { reference, merchantAccount: account };
  const evidence = { notification: id, event_type, ...transaction };
  const paid = transaction.trade_state === 'SUCCESS' ? toPaid(transaction) : undefined;
  return paid ? { ...paid, ...about, evidence } : { type: 'STATUS_CHANGED', ...about, evidence };
}

function readRefund(
  { id, event_type }: Envelope,
  resource: unknown,
  account: string,
  merchant: ResolvedWechatPayMerchant,
): Notification {
  const refund = refundSchema.safeParse(resource).data;
  if (!refund) return rejected('its resource is not a refund');
  if (refund.mchid !== merchant.mchid) return rejected('it is about another merchant (mchid)');
  const evidence = { notification: id, event_type, ...refund };
  return { type: 'STATUS_CHANGED', reference: refund.out_trade_no, merchantAccount: account, evidence };
}

function toMessage({ headers, rawBody }: NotificationRequest): SignedMessage {
  return {
    rawBody,
    header: (name) => {
      const value = headers[name];
      return typeof value === 'string' ? value : undefined;
    },
  };
}

function rejected(reason: string): Notification {
  return { type: 'REJECTED', reason };
}

function fail(status: number, message: string): NotificationReply {
  return { status, contentType: 'application/json', body: JSON.stringify({ code: 'FAIL', message }) };
}
