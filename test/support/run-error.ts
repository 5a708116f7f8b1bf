/** Something that stops a run, said in one sentence that also says what to do. */
export class RunError extends Error {
  override readonly name = 'RunError';
}
