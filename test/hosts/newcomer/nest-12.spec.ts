import { describeHostPath } from './describe-host-path';

describeHostPath(12, { isWatched: true });
