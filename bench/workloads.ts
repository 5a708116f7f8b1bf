import { type Workload } from './contestant';
import { PLACE } from './workloads/b1-place';
import { DENSE_LATENESS, LATENESS } from './workloads/b2-lateness';
import { BURST } from './workloads/b3-burst';
import { BURST_WITH_PROVIDER } from './workloads/b4-burst-with-provider';
import { STANDING_LOAD } from './workloads/b5-standing-load';
import { SWEEP } from './workloads/b6-sweep';
import { RELAY } from './workloads/b7-relay';
import { BARE_ENGINE } from './workloads/b8-bare-engine';
import { HOST_TRANSACTION } from './workloads/b9-host-transaction';
import { SCALE } from './workloads/scale';

/** In the order in which they run. */
export const WORKLOADS: readonly Workload[] = [
  PLACE,
  LATENESS,
  DENSE_LATENESS,
  BURST,
  BURST_WITH_PROVIDER,
  STANDING_LOAD,
  SWEEP,
  RELAY,
  BARE_ENGINE,
  HOST_TRANSACTION,
  SCALE,
];
