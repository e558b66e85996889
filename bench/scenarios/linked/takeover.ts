import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createClusterRegistry } from '../../../platform/redis/clusters/registry.ts';
import { liveWatchers } from '../../../platform/redis/watchers.ts';
import { monotonicMs } from '../../clock.ts';
import type { MeasuredProcess } from '../../contenders/process.ts';
import {
  CHANGED,
  lastingAddresses,
  untilAnswers,
  type LinkedRun,
} from '../../linked/linked-run.ts';
import type { LinkedPart } from '../../linked/part.ts';
import { atMost } from '../bars.ts';

const SILENCE = { id: 'silence', label: 'ms from the kill to the next event', digits: 0 };
const LATE = { id: 'late', label: 'latest event of a change, ms', digits: 0 };
const FAILED = { id: 'failed', label: 'look-ups that were no 200', digits: 0 };
const INCOMPLETE = { id: 'incomplete', label: 'look-ups that lacked an endpoint', digits: 0 };

/** The watcher that watches a cluster dies. */
export const takeover: LinkedPart = {
  title: () => 'The owner of a cluster dies',
  intro: ({ takeover: size, pollsPerSecond }) =>
    `Of two watchers the one that watches a linked cluster is killed with SIGKILL while the cluster ` +
    `changes ${size.perSecond} times a second and ${pollsPerSecond} look-ups a second read it.`,
  rows: [
    SILENCE,
    LATE,
    FAILED,
    INCOMPLETE,
    { id: 'answers', label: 'look-ups', digits: 0 },
    { id: 'longest', label: 'longest wait for an answer, ms', digits: 0 },
  ],
  columns: ['Tether'],
  measure: async (run) => {
    const { reader, doubles, sizes } = run;
    await untilAnswers(run, CHANGED);
    await reader.subscribe(run.target(CHANGED, '?watch=true'), 1);
    await reader.startPolling({
      targets: [run.target(CHANGED)],
      perSecond: sizes.pollsPerSecond,
      expected: lastingAddresses(run),
    });
    const owner = await ownerOf(run, CHANGED);
    await reader.sightings();
    const changing = doubles.change({ cluster: CHANGED, ...sizes.takeover });
    await delay(sizes.takeover.seconds * 1000 * DIES_AT);
    const killedAt = monotonicMs();
    await owner.kill();
    const changes = await changing;
    // What is changed after the kill is the first that only a new owner can tell of.
    const last = changes.at(-1);
    if (last !== undefined) await reader.untilSeen(last.address, run.timeoutMs);
    const seen = await reader.sightings();
    const { example, ...outcome } = await reader.stopPolling();
    if (example !== '') process.stderr.write(`  wrong during the takeover: ${example}\n`);
    await reader.unsubscribe();
    const at = new Map(seen.map(({ address, first }) => [address, first]));
    const after = changes.filter((change) => change.at > killedAt + SETTLED_MS);
    const events = after.flatMap(({ address }) => at.get(address) ?? []);
    return [
      {
        ...outcome,
        silence: Math.min(...events) - killedAt,
        late: Math.max(...changes.map((one) => (at.get(one.address) ?? one.at) - one.at)),
      },
    ];
  },
  bars: ([ours]) => [
    ...atMost('Takeover: ms until changes flow again', ours, SILENCE, 3_000),
    ...atMost('Takeover: look-ups that were no 200', ours, FAILED, 0),
    ...atMost('Takeover: look-ups that lacked an endpoint', ours, INCOMPLETE, 0),
  ],
};

/** `--redis-prefix`, unless one is given. */
const PREFIX = 'tether';
/** At this share of the changes the victim dies. */
const DIES_AT = 0.3;
/** What it had taken before it died may still be on its way. */
const SETTLED_MS = 200;

/** The process that watches a cluster, as the registry names it. */
async function ownerOf(run: LinkedRun, cluster: string): Promise<MeasuredProcess> {
  const redis = new Redis(run.fleet.redisUrl() ?? '');
  try {
    const watch = (await createClusterRegistry(redis, PREFIX).watches()).get(cluster);
    const beat = (await liveWatchers(redis, PREFIX)).find(({ id }) => id === watch?.owner);
    const owner = run.fleet.watchers.find(({ pid }) => pid === beat?.pid);
    if (owner === undefined)
      throw new Error(`${cluster} is watched by ${watch?.owner}: who is that?`);
    return owner;
  } finally {
    redis.disconnect();
  }
}
