/** An answer before it is signed. */
export interface WechatPayResult {
  readonly status: number;
  /** Absent: no body. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Statuses and messages of the errors; spelled with and without `_`, as WeChat Pay does. */
const ERRORS = {
  ORDER_NOT_EXIST: [404, '订单不存在'],
  ORDERNOTEXIST: [404, '订单不存在'],
  RESOURCE_NOT_EXISTS: [404, '退款单不存在'],
  USERPAYING: [202, '用户支付中，需要输入密码'],
  FREQUENCY_LIMITED: [429, '频率限制'],
  ORDER_CLOSED: [400, '订单已关闭'],
  ORDER_PAID: [400, '订单已支付'],
  PARAM_ERROR: [400, '参数错误'],
  INVALID_REQUEST: [400, '请求参数符合参数格式，但不符合业务规则'],
  NOT_ENOUGH: [403, '余额不足'],
} as const;

export function wechatPayError(code: keyof typeof ERRORS, message?: string): WechatPayResult {
  const [status, text] = ERRORS[code];
  return { status, body: { code, message: message ?? text } };
}
