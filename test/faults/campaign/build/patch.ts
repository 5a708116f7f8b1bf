/** One change of the compiled service. */
export interface Patch {
  readonly name: string;
  /** Below dist. */
  readonly file: string;
  /** Must occur in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** @throws Error naming the patch whose place is not there any more, or is there twice. */
export function applyPatch(code: string, { name, file, find, replace }: Patch): string {
  const places = code.split(find).length - 1;
  if (places !== 1)
    throw new Error(`patch ${name} has rotted: ${places} places in dist/${file} instead of one: ${find}`);
  return code.replace(find, () => replace);
}
