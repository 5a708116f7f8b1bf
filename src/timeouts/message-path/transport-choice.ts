import { type DelayTransportName } from '../../delay';

/** Which delay transport is in use, and why. */
export interface TransportChoice {
  readonly name: DelayTransportName;
  readonly why: string;
  /** By the clock of this process. */
  readonly since: Date;
}
