import { type CampaignOptions } from '../campaign-options';
import { type Column } from '../checks/verdict';
import { type FaultKind } from '../faults/fault-kind';
import { type Patch } from './patch';

/** A safety of the service that can be taken away, and how the harness notices. */
export interface Safety {
  readonly name: string;
  readonly says: string;
  readonly patches: readonly Patch[];
  /** The faults that it is there for; none: orders alone show it. */
  readonly kinds: readonly FaultKind[];
  readonly faults: number;
  /** Columns of which at least one must not be zero. */
  readonly breaks: readonly Column[];
  /** Of this trial and of a control run beside it: another safety that would hide the harm. */
  readonly without?: readonly Patch[];
  /** What the trial and its control need besides, e.g. another transport. */
  readonly options?: Partial<Pick<CampaignOptions, 'transport' | 'hasBarePool' | 'orders'>>;
}

/** A patch that needs no name of its own. */
export const patch = (file: string, find: string, replace: string): Patch => ({
  name: find.slice(0, 40),
  file,
  find,
  replace,
});
