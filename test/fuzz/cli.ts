import { parseArgs } from 'node:util';
import { describeError } from '../../core/errors.ts';
import { FuzzFailure } from './failure.ts';
import { runFuzz } from './run.ts';

const USAGE = `usage: npm run fuzz [-- --minutes N] [--seed S] [--quiet-every SECONDS] [--keep]

Changes a cluster at random while Tether's processes, its Redis and the API server fail at random,
and checks every SECONDS (default 15) that all is as it should be. --minutes is 5 by default, the
seed random; --keep leaves the logs of a good run, too. docs/fuzzing.md says what is checked.
`;

/** A wrong command line: one sentence and exit code 2. */
class UsageError extends Error {}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        minutes: { type: 'string', default: '5' },
        seed: { type: 'string', default: String(Date.now() % 1_000_000) },
        'quiet-every': { type: 'string', default: '15' },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(describeError(error));
  }
}

function numberOf(flag: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isFinite(number) && number >= least) return number;
  throw new UsageError(`--${flag} is a number of at least ${least}, not "${text}"`);
}

async function main(args: readonly string[]): Promise<number> {
  const values = parse(args);
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  if (values.help) {
    say(USAGE.trimEnd());
    return 0;
  }
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error(`ended by ${signal}`)));
  }
  const report = await runFuzz({
    seed: numberOf('seed', values.seed, 0),
    minutes: numberOf('minutes', values.minutes, 0),
    quietEverySeconds: numberOf('quiet-every', values['quiet-every'], 1),
    say,
    keep: values.keep,
    signal: interrupted.signal,
  });
  say(`fuzz: nothing lost, nothing wrong: ${JSON.stringify(report)}`);
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const usage = error instanceof UsageError;
  const text = error instanceof FuzzFailure ? error.message : describeError(error);
  process.stderr.write(`fuzz: ${text}\n${usage ? USAGE : ''}`);
  process.exitCode = usage ? 2 : 1;
}
