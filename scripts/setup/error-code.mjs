/** @param {unknown} error @returns {string | undefined} `ENOENT` and its kind, or the code of a SetupError */
export function codeOf(error) {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
