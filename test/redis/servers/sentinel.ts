import { eventually } from '../../support/eventually.ts';
import { startServer, untilReplicating, type RedisServer, type ServerTls } from './server.ts';

export const MASTER_NAME = 'tether';

/** After so long, ms, a primary that is silent counts as gone. The docs advise 5 s at most. */
const DOWN_AFTER_MS = 2_000;
const REPLICAS = 2;
const SENTINELS = 3;
const QUORUM = 2;

export interface SentinelSetupOptions {
  readonly dir: string;
  readonly password: string;
  /** Of the Sentinels themselves; default none. */
  readonly sentinelPassword?: string;
  readonly tls?: ServerTls;
}

/** A primary, two replicas, and three Sentinels that watch them. */
export interface SentinelSetup {
  /** `redis+sentinel://…/tether`; `rediss` with TLS. */
  readonly url: string;
  readonly servers: readonly RedisServer[];
  readonly sentinels: readonly RedisServer[];
  /** Whom the Sentinels take for the primary now. */
  primary(): Promise<RedisServer>;
  /** Waits until the Sentinels know of another primary than this, and it is one. */
  untilReplaced(old: RedisServer): Promise<void>;
  stop(): Promise<void>;
}

export async function startSentinelSetup(options: SentinelSetupOptions): Promise<SentinelSetup> {
  const { password, tls, sentinelPassword = '' } = options;
  const config = configOf(password);
  const first = await startServer({ ...options, config });
  const replicas = await Promise.all(
    Array.from({ length: REPLICAS }, () =>
      startServer({ ...options, config: [...config, `replicaof 127.0.0.1 ${first.port}`] }),
    ),
  );
  await Promise.all(replicas.map(untilReplicating));
  const sentinels = await Promise.all(
    Array.from({ length: SENTINELS }, () =>
      startServer({
        ...options,
        password: sentinelPassword,
        sentinel: true,
        config: sentinelConfig(first.port, options),
      }),
    ),
  );
  await untilAllKnow(sentinels);
  const servers = [first, ...replicas];
  const primary = (): Promise<RedisServer> => primaryOf(sentinels, servers);
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `${tls ? 'rediss' : 'redis'}+sentinel://:${password}@${hosts}/${MASTER_NAME}`,
    servers,
    sentinels,
    primary,
    untilReplaced: (old) =>
      eventually(async () => {
        const now = await primary();
        if (now.port === old.port) throw new Error('no other primary yet');
        if (!String(await now.admin.info('replication')).includes('role:master')) {
          throw new Error('the new primary is none yet');
        }
      }),
    stop: async () => {
      await Promise.all([...sentinels, ...servers].map((one) => one.stop()));
    },
  };
}

function configOf(password: string): string[] {
  return [
    `requirepass ${password}`,
    `masterauth ${password}`,
    'save ""',
    'repl-diskless-sync-delay 0',
    'maxmemory-policy noeviction',
  ];
}

function sentinelConfig(
  primary: number,
  { password, sentinelPassword }: SentinelSetupOptions,
): string[] {
  return [
    `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${primary} ${QUORUM}`,
    `sentinel auth-pass ${MASTER_NAME} ${password}`,
    `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER_NAME} 2000`,
    ...(sentinelPassword === undefined
      ? ['protected-mode no']
      : [`requirepass ${sentinelPassword}`, `sentinel sentinel-pass ${sentinelPassword}`]),
  ];
}

/** A Sentinel that knows of no replica or of no other Sentinel fails nothing over. */
async function untilAllKnow(sentinels: readonly RedisServer[]): Promise<void> {
  await eventually(async () => {
    for (const { admin } of sentinels) {
      const known = (await admin.call('SENTINEL', 'MASTER', MASTER_NAME)) as readonly string[];
      const numberOf = (name: string): number => Number(known[known.indexOf(name) + 1]);
      if (numberOf('num-slaves') < REPLICAS || numberOf('num-other-sentinels') < SENTINELS - 1) {
        throw new Error('a Sentinel does not know all others yet');
      }
    }
  });
}

async function primaryOf(
  [sentinel]: readonly RedisServer[],
  servers: readonly RedisServer[],
): Promise<RedisServer> {
  if (sentinel === undefined) throw new Error('there is no Sentinel');
  const address = await sentinel.admin.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME);
  const [, port] = address as [host: string, port: string];
  const found = servers.find((one) => one.port === Number(port));
  if (found === undefined) throw new Error(`the Sentinels name an unknown primary at port ${port}`);
  return found;
}
