import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A table of the host. */
@Entity({ name: 'basket' })
export class Basket {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'int' })
  pieces!: number;
}
