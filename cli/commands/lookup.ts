import { InvalidInputError } from '../../core/errors.ts';
import type { CommandInput, Io } from '../command.ts';
import { startLookupRole } from '../roles/lookup-role.ts';
import { runOnRedisAlone } from '../roles/redis-alone.ts';

/**
 * `lookup` answers look-ups until it is stopped; `lookup CLUSTER NS/SERVICE`, `lookup NS/SERVICE` (by
 * its local name) and `lookup CLUSTER` ask for one, of the Redis itself.
 */
export async function run(input: CommandInput, io: Io): Promise<number> {
  if (input.args['cluster']) {
    const { askOnce } = await import('../lookup/ask.ts');
    return askOnce(input, io);
  }
  const [flag] = ['watch', 'output', 'port'].filter((name) => input.flags[name] !== undefined);
  if (flag !== undefined) {
    throw new InvalidInputError(flag, `--${flag}: of which Service? See tether lookup --help`);
  }
  const { config } = input;
  await runOnRedisAlone({ name: 'lookup', config, signal: io.signal, start: startLookupRole });
  return 0;
}
