interface Entry {
  readonly text: string;
  readonly color: string;
}

/** Height of a legend, in pixels. */
export const LEGEND_HEIGHT = 20;

/** HTML that tells what the colors of a drawing mean. */
export function legend(entries: readonly Entry[]): string {
  const spans = entries.map(({ text, color }) => `<span><i style="background:${color}"></i>${text}</span>`);
  return `<div class="legend">${spans.join('')}</div>`;
}
