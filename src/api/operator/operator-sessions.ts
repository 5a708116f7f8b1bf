import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { type Clock } from '../../clock';
import { type Operator, type OperatorKeys } from './operator-keys';

/** An operator who is signed in. */
export interface OperatorSession {
  readonly operator: Operator;
  /** Must come with every request that changes something. A page of another site cannot read it. */
  readonly csrf: string;
  readonly expiresAt: Date;
}

/** How long a session lasts, in milliseconds: a working day. */
export const SESSION_MS = 43_200_000;

const payloadSchema = z.tuple([z.string(), z.int(), z.int(), z.string()]);

/** Name of the key, when it was issued and when it expires (epoch milliseconds), and a random text. */
type Payload = z.infer<typeof payloadSchema>;

/**
 * Sessions without a table: the token carries its content, signed with a secret of the operator's key. So every instance
 * verifies it, and removing or changing the key ends its sessions.
 */
export class OperatorSessions {
  constructor(
    private readonly keys: OperatorKeys,
    private readonly clock: Pick<Clock, 'now'>,
  ) {}

  /** Signs in with a key. Undefined: nobody has this key. */
  begin(key: string): { readonly token: string; readonly session: OperatorSession } | undefined {
    const operator = this.keys.find(key);
    if (!operator) return undefined;
    const now = this.clock.now();
    const payload: Payload = [operator.name, now, now + SESSION_MS, randomBytes(16).toString('base64url')];
    const text = Buffer.from(JSON.stringify(payload)).toString('base64url');
    return { token: `${text}.${sign(operator, 'token', text)}`, session: sessionOf(operator, payload) };
  }

  /** The session of a token. Undefined: it is forged, it has expired, or its key has been removed or changed. */
  find(token: string): OperatorSession | undefined {
    const [text = '', signature = '', ...rest] = token.split('.');
    const payload = readPayload(text);
    const operator = payload && this.keys.named(payload[0]);
    if (!operator || rest.length > 0 || !isSame(signature, sign(operator, 'token', text))) return undefined;
    return payload[2] > this.clock.now() ? sessionOf(operator, payload) : undefined;
  }
}

/** Whether two texts are equal, in constant time for texts of one length. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function sessionOf(operator: Operator, [, , expiresAt, nonce]: Payload): OperatorSession {
  return { operator, csrf: sign(operator, 'csrf', nonce), expiresAt: new Date(expiresAt) };
}

function sign({ secret }: Operator, purpose: 'token' | 'csrf', text: string): string {
  return createHmac('sha256', secret).update(`${purpose}:${text}`).digest('base64url');
}

function readPayload(text: string): Payload | undefined {
  try {
    return payloadSchema.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString())).data;
  } catch {
    return undefined;
  }
}
