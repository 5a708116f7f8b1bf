/** A change of a line or two that takes back what makes the product safe. */
export interface Weakness {
  readonly name: string;
  /** What is weaker, for the table in the docs. */
  readonly says: string;
  readonly patches: readonly Patch[];
}

/** `find` is there once. */
export interface Patch {
  /** Below src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export function patch(file: string, find: string, replace: string): Patch {
  return { file, find, replace };
}
