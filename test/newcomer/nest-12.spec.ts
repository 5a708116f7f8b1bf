import { describeHostPath } from '../e2e/newcomer/describe-host-path';

describeHostPath(12, { isWatched: true });
