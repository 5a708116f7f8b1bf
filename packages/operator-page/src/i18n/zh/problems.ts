import { type Messages } from '../en';

export const problems: Messages['problems'] = {
  title: '操作未成功',
  noAnswer: '服务没有响应。',
  FORBIDDEN: '您的密钥无权执行此操作。',
  RATE_LIMITED: '请求过多，请稍候。',
  DATABASE_UNAVAILABLE: '数据库不可用。',
  BUSY: '订单正在别处处理，请重试。',
  ORDER_NOT_FOUND: '订单不存在。',
};
