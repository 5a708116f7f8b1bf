import { type z } from 'zod';

/** A message of the contract. */
export interface Message {
  /** Name of its type in generated clients. */
  readonly name: string;
  readonly summary: string;
  readonly schema: z.ZodType;
  /** A body as it is on the wire, for the documents and for tests. */
  readonly example: Readonly<Record<string, unknown>>;
}

/** Messages by routing key. */
export type Messages = Readonly<Record<string, Message>>;
