/** Something that stops the demo, said in one sentence that also says what to do. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
