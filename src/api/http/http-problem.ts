import { CodedError } from '../../errors';
import { type ProblemCode } from './problem-catalogue';

/** A request that is refused before it reaches a use case. */
export class HttpProblem extends CodedError {
  constructor(
    readonly problem: ProblemCode,
    readonly detail: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(problem, detail);
  }
}
