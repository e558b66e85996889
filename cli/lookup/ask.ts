import { InvalidInputError } from '../../core/errors.ts';
import { isDnsSubdomain, parseKey } from '../../core/object-key.ts';
import { createLookupMetrics } from '../../platform/telemetry/metrics/lookup-metrics.ts';
import { endpointsAnswer, type Answer } from '../../lookup/answers.ts';
import { difference } from '../../lookup/diff.ts';
import type { Known } from '../../lookup/known.ts';
import { Lookup } from '../../lookup/lookup.ts';
import type { EndpointsRoute } from '../../lookup/routes.ts';
import type { Target } from '../../lookup/target.ts';
import { resolveRedisUrl } from '../../platform/config.ts';
import { checkRedis, connectRedis } from '../../platform/redis/connect.ts';
import { createLogger } from '../../platform/telemetry/logger.ts';
import type { CommandInput, Io } from '../command.ts';
import { CommandError } from '../failures.ts';
import { describeChange, describeEndpoints, describeServices } from './describe.ts';

/** What is asked for: one Service, or all of a cluster. */
type Question =
  EndpointsRoute | { readonly kind: 'services'; readonly cluster: string; readonly maxAgeMs: null };

/** Answers one question from the Redis itself; 0 once there was an answer. */
export async function askOnce(input: CommandInput, io: Io): Promise<number> {
  const question = questionOf(input);
  const { config } = input;
  const log = await createLogger({ level: 'error', format: 'auto', fd: 2, colour: config.colour });
  const redisUrl = resolveRedisUrl(config);
  const redis = connectRedis(redisUrl, 'producer', { log });
  try {
    await checkRedis(redis, { log });
    const { record: metrics } = createLookupMetrics();
    const lookup = new Lookup({ redis, redisUrl, prefix: config.redisPrefix, log, metrics });
    try {
      await lookup.start();
      return await answer(lookup, question, input, io);
    } finally {
      lookup.close();
    }
  } finally {
    redis.disconnect();
  }
}

function questionOf({ args, flags }: CommandInput): Question {
  const { cluster = '', key = '' } = args;
  const port = typeof flags['port'] === 'string' ? flags['port'] : '';
  const watch = flags['watch'] === true;
  const of = { kind: 'endpoints', port, watch, maxAgeMs: null } as const;
  if (key === '' && cluster.includes('/')) return { ...of, cluster: '', key: checkedKey(cluster) };
  if (!isDnsSubdomain(cluster)) {
    throw new InvalidInputError('cluster', `${JSON.stringify(cluster)} is not a cluster's name`);
  }
  if (key !== '') return { ...of, cluster, key: checkedKey(key) };
  if (!watch && port === '') return { kind: 'services', cluster, maxAgeMs: null };
  throw new InvalidInputError('service', 'of which Service? tether lookup CLUSTER NS/SERVICE');
}

function checkedKey(key: string): string {
  parseKey(key);
  return key;
}

async function answer(
  lookup: Lookup,
  question: Question,
  { flags }: CommandInput,
  io: Io,
): Promise<number> {
  const json = flags['output'] === 'json';
  if (question.kind === 'services') {
    const body = bodyOf(await lookup.answer(question));
    io.out(json ? JSON.stringify(body, null, 2) : describeServices(body));
    return 0;
  }
  const target = lookup.target(question);
  await target.load();
  if (question.watch) return follow(lookup, target, json, io);
  const known = target.now();
  const body = bodyOf(endpointsAnswer(known, lookup.world.directory.now(), null));
  io.out(json ? JSON.stringify(body, null, 2) : describeEndpoints(body, endpointsOf(known)));
  return 0;
}

/** @throws CommandError for an answer that is none. */
function bodyOf({ status, head, tail }: Answer): Readonly<Record<string, unknown>> {
  const body = JSON.parse(head + (tail?.bytes.toString() ?? '')) as Readonly<
    Record<string, unknown>
  >;
  if (status !== 200) throw new CommandError(String(body['error']));
  return body;
}

function endpointsOf(known: Known) {
  return known.kind === 'set'
    ? Array.from(known.set.items.values(), ({ endpoint }) => endpoint)
    : [];
}

/** Prints the answer, and then what makes each later one of it, until what it is about is gone. */
async function follow(lookup: Lookup, target: Target, json: boolean, io: Io): Promise<number> {
  const ended = Promise.withResolvers<void>();
  let last: Known | null = null;
  const show = (): void => {
    const known = target.now();
    const before = last;
    last = known;
    if (known.kind === 'absent' || (known.kind === 'unknown' && before?.kind === 'set')) {
      return ended.reject(new CommandError(known.refusal.error));
    }
    const now = lookup.world.directory.now();
    const from = before?.kind === 'set' ? before.set : null;
    const change = from !== null && known.kind === 'set' ? difference(from, known.set) : null;
    const text = describeChange({ known, first: from === null, change, now, json });
    if (text !== '') io.out(text);
  };
  const end = target.watch(show);
  const stop = (): void => ended.resolve();
  io.signal.addEventListener('abort', stop, { once: true });
  try {
    show();
    await ended.promise;
    return 0;
  } finally {
    io.signal.removeEventListener('abort', stop);
    end();
  }
}
