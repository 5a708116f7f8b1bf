import { type Canvas } from './canvas';
import { scaleFor } from './scale';

/** Space around a chart, for its numbers. */
export const MARGIN = { left: 52, right: 10, top: 8, bottom: 20 };

/** Where a second is, in pixels from the left. */
export function xOf(second: number, { width, seconds }: Canvas): number {
  return MARGIN.left + (Math.max(0, second) / seconds) * (width - MARGIN.left - MARGIN.right);
}

/** SVG of the seconds below a chart. */
export function timeAxis(canvas: Canvas): string {
  const y = canvas.height - 5;
  const ticks = scaleFor([canvas.seconds]).ticks.filter((second) => second <= canvas.seconds);
  return ticks.map((second) => label(xOf(second, canvas), y, `${second} s`, 'middle')).join('');
}

export function label(x: number, y: number, text: string, anchor: 'middle' | 'end'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`;
}

export function svg({ width, height }: Canvas, content: string): string {
  return `<svg width="${width}" height="${height}">${content}</svg>`;
}
