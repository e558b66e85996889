import { pino, stdTimeFunctions, type DestinationStream } from 'pino';
import type { LogFields, Logger } from '../../core/logger.ts';
import { redactFields, redactText } from './redact.ts';

export interface LoggerOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** auto: pretty on a terminal, JSON elsewhere. */
  readonly format: 'auto' | 'json' | 'pretty';
  /** Fields of every line, such as the role. */
  readonly base?: LogFields;
  /** File descriptor: 1 for roles, whose log is their output, 2 for commands that print a result. */
  readonly fd: 1 | 2;
  /** Default true; only a terminal ever gets colours. */
  readonly colour?: boolean;
}

/** A logger that owns a file descriptor's buffer. */
export interface OwnedLogger extends Logger {
  /** Writes out what is buffered; to be called before the process ends. */
  flush(): void;
}

/**
 * The log of a process. JSON lines have `level` (a word), `time` (RFC 3339, UTC), `msg`, and the
 * fields; credentials are taken out of both. Writes are buffered while the descriptor is busy, so that
 * a slow reader never holds up the work.
 */
export async function createLogger(options: LoggerOptions): Promise<OwnedLogger> {
  const terminal = (options.fd === 1 ? process.stdout : process.stderr).isTTY === true;
  const pretty = options.format === 'pretty' || (options.format === 'auto' && terminal);
  if (!pretty) {
    // Many lines a write, yet none waits for long: a write goes through another thread and back.
    const file = pino.destination({
      fd: options.fd,
      sync: false,
      minLength: 4096,
      periodicFlush: 50,
    });
    const flush = flushOf(file);
    // The last lines of a process that ends abruptly are those that somebody will look for.
    process.on('exit', flush);
    return loggerTo(file, options, flush);
  }
  // Only on a terminal: nobody else should pay for its import.
  const { prettyFactory } = await import('pino-pretty');
  const format = prettyFactory({
    colorize: options.colour !== false && terminal,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
  });
  const file = pino.destination({ fd: options.fd, sync: true });
  const lines = { write: (line: string) => void file.write(format(line)) };
  return loggerTo(lines, options, flushOf(file));
}

/** As `createLogger`, in JSON to any stream; for tests and for those who embed Tether. */
export function createJsonLogger(
  stream: { write(line: string): void },
  options: Pick<LoggerOptions, 'level' | 'base'>,
): Logger {
  return loggerTo(stream, options, () => undefined);
}

function flushOf(file: { flushSync(): void }): () => void {
  return () => {
    try {
      file.flushSync();
    } catch {
      // The reader is gone: there is nobody left to tell.
    }
  };
}

function loggerTo(
  stream: DestinationStream,
  options: Pick<LoggerOptions, 'level' | 'base'>,
  flush: () => void,
): OwnedLogger {
  const lines = pino(
    {
      level: options.level,
      base: redactFields(options.base ?? {}),
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  const at =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: LogFields, message: string): void => {
      // Asked first: a line that nobody wants must cost nothing.
      if (lines.isLevelEnabled(level)) lines[level](redactFields(fields), redactText(message));
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), flush };
}
