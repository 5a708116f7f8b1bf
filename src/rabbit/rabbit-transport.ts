/** Binds a handler to RabbitServer: `@EventPattern<string>('order.placed', RABBIT_TRANSPORT)`. */
export const RABBIT_TRANSPORT = Symbol('order-timeout:rabbit');
