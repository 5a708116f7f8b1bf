import { describeHostPath } from '../e2e/newcomer/describe-host-path';

describeHostPath(11, { isWatched: true });
