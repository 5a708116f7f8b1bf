import { describeHostPath } from './describe-host-path';

describeHostPath(12);
