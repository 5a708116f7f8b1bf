import { type DueTimeout, TimeoutHandler } from 'nestjs-order-timeout/timeouts';
import { type EntityManager } from 'typeorm';
import { Basket } from './basket.js';

/** A timeout of the host, which writes to a table of the host. */
@TimeoutHandler('shop.greeting')
export class Greetings {
  async handle({ key }: DueTimeout, tx: EntityManager): Promise<void> {
    await tx.insert(Basket, { id: key, pieces: 0 });
  }
}
