/** undefined for what is not JSON: the schemas then say that it is not recognised. */
export function parseJson(rawBody: Buffer | string): unknown {
  try {
    return JSON.parse(rawBody.toString());
  } catch {
    return undefined;
  }
}
