/** Undefined if the text is not JSON. The schemas reject that. */
export function parseJson(rawBody: Buffer | string): unknown {
  try {
    return JSON.parse(rawBody.toString());
  } catch {
    return undefined;
  }
}
