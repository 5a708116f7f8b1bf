import { type Random } from '../../../support/buyers/random';
import { type Stage } from '../stage/open-stage';
import { type BrokerLink } from '../stream/broker-link';
import { type InjectedFault } from './fault-log';

/** What a fault needs to do its harm. */
export interface Scene {
  readonly stage: Stage;
  readonly link: BrokerLink;
  readonly signal: AbortSignal;
}

/** Injects one fault and resolves when what it broke works again. It may add to what the log says. */
export type Fault = (scene: Scene, random: Random, entry: InjectedFault) => Promise<void>;
