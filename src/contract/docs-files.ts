/** The files of the page at /docs. */
export const DOCS_FILES = ['swagger-ui.css', 'swagger-ui-bundle.js', 'try.js'] as const;

export type DocsFile = (typeof DOCS_FILES)[number];
