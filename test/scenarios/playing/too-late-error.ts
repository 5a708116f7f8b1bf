/** The deadline came before the story was that far: the machine has other things to do. */
export class TooLateError extends Error {
  override readonly name = 'TooLateError';
}
