import { type OrderPolicy } from '../../src/orders/model/order-policies';
import { type Agenda } from './agenda';
import { type ModelEngine } from './model-engine';
import { type ModelProvider } from './model-provider';
import { type ModelStore } from './model-store';
import { type Processes } from './processes';
import { type Random } from './random';
import { type Trace } from './trace';
import { type Wiring } from './wiring';

/** All that one run consists of. */
export interface World {
  readonly agenda: Agenda;
  readonly random: Random;
  readonly trace: Trace;
  readonly wiring: Wiring;
  readonly policy: OrderPolicy;
  readonly store: ModelStore;
  readonly engine: ModelEngine;
  readonly processes: Processes;
  /** The provider of an attempt, as its merchant account sees it. */
  providerOf(attempt: { readonly provider: string; readonly merchantAccount: string | null }): ModelProvider;
}
