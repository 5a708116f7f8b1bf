import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { OnOrder, type OrderDelivery, type OrderEvent } from '../../../src';

/** Writes down each call, and ends only in a process that is told so. */
@Injectable()
export class HangingListener {
  constructor(private readonly dataSource: DataSource) {}

  @OnOrder('cancelled', { name: 'hanging', timeoutMs: 1_000 })
  async hear({ id }: OrderEvent<'cancelled'>, { attempt }: OrderDelivery): Promise<void> {
    await this.dataSource.query('INSERT INTO call VALUES ($1, $2, $3)', [id, attempt, process.pid]);
    if (process.env.HANG === undefined) return;
    process.stdout.write('called\n');
    await new Promise(() => undefined);
  }
}
