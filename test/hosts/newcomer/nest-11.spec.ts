import { describeHostPath } from './describe-host-path';

describeHostPath(11, { isWatched: true });
