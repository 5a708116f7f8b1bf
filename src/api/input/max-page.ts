/** Entries of one page, or of one request. */
export const MAX_PAGE = 1_000;
