type RefusalCode<Result> = Extract<Result, { outcome: 'rejected' }> extends { code: infer Code } ? Code : never;

/** The codes with which a use case refuses. Does not compile if one is missing. */
export function refusalsOf<Result>(
  codes: Readonly<Record<RefusalCode<Result> & string, true>>,
): readonly (RefusalCode<Result> & string)[] {
  return Object.keys(codes) as (RefusalCode<Result> & string)[];
}
