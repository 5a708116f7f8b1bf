/** What the page says itself about an error; other problems show what the service says. */
export const problems = {
  title: 'That did not work',
  noAnswer: 'The service does not answer.',
  FORBIDDEN: 'Your key may not do this.',
  RATE_LIMITED: 'Too many requests. Wait a little.',
  DATABASE_UNAVAILABLE: 'The database is not available.',
  BUSY: 'The order is locked by other work. Try again.',
  ORDER_NOT_FOUND: 'There is no such order.',
};
