const NAMED: Readonly<Record<string, string>> = { green: '#3a9d5d', orange: '#e08c22', red: '#d1493f' };

/** Of the lines of a chart, in their order. */
export const LINE_COLORS = ['#2f7d4f', '#c98a1b', '#3b74c4', '#c4513b', '#7d57b8', '#2a9aa6', '#a34a86', '#6b7280'];

/** The color that a dashboard names. */
export function colorNamed(name = ''): string {
  return NAMED[name] ?? '#6b7280';
}
