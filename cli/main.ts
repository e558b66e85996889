import { describeError, InvalidInputError, TetherError } from '../core/errors.ts';
import { parseKey } from '../core/object-key.ts';
import { readConfig } from '../platform/config.ts';
import { redactText } from '../platform/telemetry/redact.ts';
import type { Io } from './command.ts';
import { COMMANDS } from './commands.ts';
import { parsePlainly } from './plain-command-line.ts';
import type { HelpShown, Invocation } from './program.ts';

const FAILED = 1;
const WRONG_INPUT = 2;
/** What a stopped command may take to close its connections, in ms. */
const LINGER_MS = 2_000;

/**
 * Runs one command line and gives the exit code: 0 done, 1 failed, 2 a wrong command line or
 * configuration. Whatever goes wrong is one line on stderr (one for each wrong option).
 */
export async function main(argv: readonly string[]): Promise<number> {
  const stop = new AbortController();
  const io = createIo(stop.signal);
  watchProcess(stop, io);
  let code: number;
  try {
    code = await runCommandLine(argv, io);
  } catch (error) {
    code = complain(error, stop.signal, io);
  }
  // Nothing should be left open by now; a socket that is must not keep a stopped process alive.
  setTimeout(() => process.exit(code), LINGER_MS).unref();
  return code;
}

async function runCommandLine(argv: readonly string[], io: Io): Promise<number> {
  const parsed = parsePlainly(argv, COMMANDS) ?? (await parseThoroughly(argv));
  if ('help' in parsed) {
    io.out(parsed.help);
    return 0;
  }
  checkArguments(parsed);
  const { command, args, flags, settings } = parsed;
  const config = readConfig(settings);
  const { run } = await command.load();
  return run({ command: command.name, config, args, flags }, io);
}

async function parseThoroughly(argv: readonly string[]): Promise<Invocation | HelpShown> {
  const { parseCommandLine } = await import('./program.ts');
  return parseCommandLine(argv, COMMANDS);
}

function checkArguments({ command, args }: Invocation): void {
  for (const { name, kind } of command.args) if (kind === 'key') parseKey(args[name] ?? '');
}

function createIo(signal: AbortSignal): Io {
  return {
    out: (text) => void process.stdout.write(`${text}\n`),
    err: (text) => void process.stderr.write(`${redactText(text)}\n`),
    signal,
  };
}

function complain(error: unknown, signal: AbortSignal, io: Io): number {
  // Stopped by its user: there is nothing to explain.
  if (signal.aborted && isStop(error, signal.reason)) return exitCodeOf(signal);
  for (const line of describeError(error).split('\n')) io.err(`tether: ${line}`);
  if (error instanceof InvalidInputError) return WRONG_INPUT;
  if (!(error instanceof TetherError) && error instanceof Error && isBug(error)) {
    io.err(error.stack ?? '');
  }
  return FAILED;
}

/** Node's own timers wrap the reason of an abort. */
function isStop(error: unknown, reason: unknown): boolean {
  return error === reason || (error instanceof Error && error.cause === reason);
}

/** Errors of the language itself are ours, and only the stack tells where. */
function isBug(error: Error): boolean {
  return [TypeError, ReferenceError, RangeError, SyntaxError].some((kind) => error instanceof kind);
}

/** The reason of `Io.signal`. */
class StoppedError extends Error {
  readonly signal: NodeJS.Signals;
  constructor(signal: NodeJS.Signals) {
    super(`stopped by ${signal}`);
    this.name = 'StoppedError';
    this.signal = signal;
  }
}

function exitCodeOf(signal: AbortSignal): number {
  const reason: unknown = signal.reason;
  return reason instanceof StoppedError && reason.signal === 'SIGINT' ? 130 : 143;
}

function watchProcess(stop: AbortController, io: Io): void {
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (stop.signal.aborted) process.exit(exitCodeOf(stop.signal));
      stop.abort(new StoppedError(name));
    });
  }
  // `tether status | head`: the reader has seen enough.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : FAILED);
  });
  process.on('uncaughtException', (error) => {
    io.err(`tether: a fault of Tether itself: ${error.stack ?? describeError(error)}`);
    process.exit(FAILED);
  });
}
