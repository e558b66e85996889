import { Command as Parser, CommanderError, Option } from 'commander';
import { InvalidInputError } from '../core/errors.ts';
import { OPTIONS, type OptionName } from '../platform/config/options.ts';
import { helpFor, type GivenFlags } from '../platform/config.ts';
import { packageVersion } from '../platform/package-file.ts';
import type { Command } from './command.ts';

/** A command line, taken apart. */
export interface Invocation {
  readonly command: Command;
  readonly args: Readonly<Record<string, string>>;
  readonly flags: Readonly<Record<string, string | boolean | undefined>>;
  /** Options of the configuration. */
  readonly settings: GivenFlags;
}

/** Asked for, so that it is no error: the text of the help, or the release. */
export interface HelpShown {
  readonly help: string;
}

const GROUPS: Readonly<Record<string, string>> = {
  reconcile: 'puts one key into the queue, first in line',
  workload: 'sets the Ready condition of an ExternalWorkload',
};

const FOOTER =
  '\nEvery option of the configuration can be given as a variable too (in brackets).\n' +
  'Exit codes: 0 done, 1 failed, 2 a wrong command line or configuration.';

/**
 * Takes a command line apart.
 *
 * @throws InvalidInputError with one sentence when it is no command line of ours.
 */
export function parseCommandLine(
  argv: readonly string[],
  commands: readonly Command[],
): Invocation | HelpShown {
  let found: Invocation | undefined;
  let help = '';
  const program = quiet(new Parser('tether'), (text) => (help += text));
  program
    .description('Brings endpoints that live outside of a Kubernetes cluster into it.')
    .version(packageVersion(), '--version', 'print which release this is')
    .addHelpText('after', FOOTER);
  const groups = new Map<string, Parser>();
  for (const command of commands) {
    const parent = parentOf(program, groups, command.name);
    register(parent, command, (invocation) => (found = invocation));
  }
  try {
    program.parse(argv, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { help: help.trimEnd() };
    throw new InvalidInputError('command line', sentence(error, argv, groups));
  }
  if (found === undefined) throw new InvalidInputError('command line', 'no command; try --help');
  return found;
}

/** Commander neither writes nor exits by itself. Subcommands inherit this. */
function quiet(parser: Parser, help: (text: string) => void): Parser {
  return parser
    .exitOverride()
    .configureOutput({ writeOut: help, writeErr: () => undefined })
    .helpCommand(false);
}

function parentOf(program: Parser, groups: Map<string, Parser>, name: string): Parser {
  const [group, second] = name.split(' ');
  if (group === undefined || second === undefined) return program;
  const known = groups.get(group) ?? program.command(group).summary(GROUPS[group] ?? '');
  known.description(GROUPS[group] ?? '').helpCommand(false);
  groups.set(group, known);
  return known;
}

function register(
  parent: Parser,
  command: Command,
  onMatch: (invocation: Invocation) => void,
): void {
  const parser = parent.command(command.name.split(' ').at(-1) ?? command.name);
  parser
    .summary(command.summary)
    .description(capitalised(command.summary))
    .allowExcessArguments(false);
  for (const { shown, optional } of command.args) {
    parser.argument(optional ? `[${shown}]` : `<${shown}>`);
  }
  for (const { flags, help, choices } of command.flags) {
    const option = new Option(flags, help);
    parser.addOption(choices ? option.choices(choices) : option);
  }
  for (const name of command.settings) {
    const { flags, help } = helpFor(name);
    parser.option(flags, help);
  }
  parser.action(() => {
    const values: Record<string, unknown> = parser.opts();
    onMatch({
      command,
      args: Object.fromEntries(command.args.map(({ name }, at) => [name, parser.args[at] ?? ''])),
      flags: ownFlags(command, values),
      settings: settingsOf(command.settings, values),
    });
  });
}

function ownFlags(command: Command, values: Record<string, unknown>): Invocation['flags'] {
  const flags: Record<string, string | boolean | undefined> = {};
  for (const { flags: text } of command.flags) {
    const name = new Option(text).attributeName();
    const value = values[name];
    if (typeof value === 'string' || typeof value === 'boolean') flags[name] = value;
  }
  return flags;
}

function settingsOf(names: readonly OptionName[], values: Record<string, unknown>): GivenFlags {
  const given: Partial<Record<OptionName, string>> = {};
  for (const name of names) {
    const value = values[camelCase(OPTIONS[name].flag)];
    if (typeof value === 'string') given[name] = value;
  }
  return given;
}

/** Commander's message on one line, with where to look further. */
function sentence(
  error: CommanderError,
  argv: readonly string[],
  groups: ReadonlyMap<string, unknown>,
): string {
  const [first = '', second = ''] = argv;
  const said = groups.has(first) ? [first, second] : [first];
  const right = error.code === 'commander.unknownCommand' ? said.slice(0, -1) : said;
  const words = right.filter((word) => /^[a-z]/.test(word));
  const hint = `see ${['tether', ...words, '--help'].join(' ')}`;
  // A group without a command, or nothing at all: commander shows its help as an error then.
  if (error.code === 'commander.help') {
    return `${groups.has(first) ? `${first}: which one?` : 'no command;'} ${hint}`;
  }
  const message = error.message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  return `${message}; ${hint}`;
}

function capitalised(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function camelCase(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
