/** The size of a drawing, in pixels, and how many seconds it shows. */
export interface Canvas {
  readonly width: number;
  readonly height: number;
  readonly seconds: number;
}
