/** T as JSON carries it: dates are text. */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer Entry)[]
    ? Json<Entry>[]
    : T extends object
      ? { -readonly [Key in keyof T]: Json<T[Key]> }
      : T;
