/** @param {string} text @returns {string} the last line that is not empty */
export const lastLineOf = (text) => text.trimEnd().split('\n').at(-1) ?? '';
