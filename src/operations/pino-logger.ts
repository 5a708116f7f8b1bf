import { type LoggerService } from '@nestjs/common';
import { type DestinationStream, type Level, type Logger, pino } from 'pino';

/** Values of LOG_LEVEL. `silent` logs nothing. */
export const LOG_LEVELS = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Nest's logger on pino: one JSON object per line, to standard output or another destination. */
export class PinoLogger implements LoggerService {
  private readonly pino: Logger;

  constructor(level: LogLevel, destination?: DestinationStream) {
    const formatters = { level: (label: string) => ({ level: label }) };
    const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters };
    this.pino = destination ? pino(options, destination) : pino(options);
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.write('info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }

  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }

  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  /** Nest passes the context as the last argument, and the stack of an error before it. */
  private write(level: Level, message: unknown, rest: readonly unknown[]): void {
    const context = rest.at(-1);
    const details = rest.slice(0, -1).filter((detail) => detail !== undefined);
    const stack = details.find((detail) => typeof detail === 'string');
    const others = details.filter((detail) => detail !== stack);
    const fields = {
      ...(typeof context === 'string' && { context }),
      ...(stack !== undefined && { stack }),
      ...(others.length > 0 && { details: others }),
    };
    if (message instanceof Error) this.pino[level]({ ...fields, err: message }, message.message);
    else if (typeof message === 'string') this.pino[level](fields, message);
    else this.pino[level]({ ...fields, message });
  }
}
