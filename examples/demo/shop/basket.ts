import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A table of the shop's own, written in the same transaction as the order. */
@Entity({ name: 'basket' })
export class Basket {
  @PrimaryColumn({ name: 'order_id', type: 'text' })
  orderId!: string;

  @Column({ type: 'int' })
  pieces!: number;
}

export const CREATE_BASKET = 'CREATE TABLE basket (order_id text PRIMARY KEY, pieces int NOT NULL)';
