import { z } from 'zod';

/** A time in an answer or an event: ISO 8601 in UTC with milliseconds. */
export const instant = z.iso.datetime();
