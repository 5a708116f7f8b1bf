/** The decoded segments of a path, without its query string. */
export function pathSegments(path: string): string[] {
  return path.replace(/\?.*$/s, '').split('/').slice(1).map(decodeSegment);
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
