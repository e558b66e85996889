import { OPTIONS } from '../platform/config/options.ts';
import type { GivenFlags } from '../platform/config.ts';
import type { Command } from './command.ts';
import type { Invocation } from './program.ts';

/**
 * Takes the command line of a role apart (`tether up --http-port 9090`), which is all there is to it
 * on most starts, without importing commander (10 ms of a start). Gives null for anything else, be it
 * wrong or merely unusual: `parseCommandLine` then has its say. A test holds the two to one answer.
 */
export function parsePlainly(
  argv: readonly string[],
  commands: readonly Command[],
): Invocation | null {
  const [name, ...words] = argv;
  const command = commands.find((one) => one.name === name);
  if (!command || command.args.length > 0 || command.flags.length > 0) return null;
  const settings: { -readonly [K in keyof GivenFlags]: string } = {};
  for (let at = 0; at < words.length; at += 2) {
    const option = command.settings.find((one) => `--${OPTIONS[one].flag}` === words[at]);
    const value = words[at + 1];
    if (option === undefined || value === undefined || value.startsWith('-')) return null;
    settings[option] = value;
  }
  return { command, args: {}, flags: {}, settings };
}
