/** What a line says besides its message. Names are stable: people filter by them. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Where everything writes its log lines. One line an outcome; an error goes into `error`. Credentials
 * are taken out by whoever writes the line, yet nobody should hand any over.
 */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** Says nothing; for callers that want no log. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
