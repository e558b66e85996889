import type { OptionName } from '../platform/config/options.ts';
import type { Config } from '../platform/config.ts';

/** What a command gets: the checked configuration, and what only this command knows. */
export interface CommandInput {
  /** As it was called: `reconcile service`. */
  readonly command: string;
  readonly config: Config;
  /** Positional arguments by name. */
  readonly args: Readonly<Record<string, string>>;
  /** Flags of the command itself by camel-cased name: true when given, or the text given. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
}

/** Where a command's words go, and how it is told to stop. */
export interface Io {
  /** A result, on stdout; a line end is added. */
  out(text: string): void;
  /** Anything that is no result, on stderr; a line end is added. */
  err(text: string): void;
  /** Aborted at the first SIGINT or SIGTERM; a second one ends the process at once. */
  readonly signal: AbortSignal;
}

/** What a file in `cli/commands/` exports. */
export interface CommandModule {
  /**
   * Runs the command; gives the exit code. What it throws becomes one line on stderr and exit code 1
   * (2 for InvalidInputError). Roles return once they have stopped.
   */
  run(input: CommandInput, io: Io): Promise<number>;
}

export interface ArgSpec {
  readonly name: string;
  /** As the help shows it: `NS/NAME`. */
  readonly shown: string;
  /** `key`: checked to be NAMESPACE/NAME before the command is loaded. */
  readonly kind: 'key' | 'text';
  readonly optional?: true;
}

export interface FlagSpec {
  /** As commander wants it: `-o, --output <format>`. */
  readonly flags: string;
  readonly help: string;
  readonly choices?: readonly string[];
}

/** A row of the table of commands: all that can be known without loading the command. */
export interface Command extends CommandOptions {
  /** One word, or two: `reconcile service`. */
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<CommandModule>;
}

interface CommandOptions {
  readonly args: readonly ArgSpec[];
  readonly flags: readonly FlagSpec[];
  /** Options of the configuration that the command heeds, and shows in its help. */
  readonly settings: readonly OptionName[];
}
