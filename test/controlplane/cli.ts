import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { down } from './down.ts';
import { up } from './up.ts';

const USAGE = `usage: npm run controlplane -- up [--clusters N] [--dir D] [--controllers] [--extra-controllers A,B]
       npm run controlplane -- down [--dir D]

up    starts etcd and N Kubernetes API servers (each a cluster of its own), and returns once they
      are ready. Writes D/cluster-0.kubeconfig … D is .controlplane by default.
      --controllers         garbage collection and namespace deletion in every cluster, not only in
                            cluster 0
      --extra-controllers   more controllers of kube-controller-manager for cluster 0, by name
down  ends what up started in D.
`;
const MOST_CLUSTERS = 64;

/** A wrong command line: one sentence and exit code 2. */
class UsageError extends Error {}

async function main(args: readonly string[]): Promise<void> {
  const { positionals, values } = parse(args);
  const [command] = positionals;
  const dir = resolve(values.dir);
  if (values.help) {
    process.stdout.write(USAGE);
  } else if (command === 'up' && positionals.length === 1) {
    await up({
      dir,
      clusters: clusterCount(values.clusters),
      controllersEverywhere: values.controllers,
      extraControllers: values['extra-controllers'],
    });
  } else if (command === 'down' && positionals.length === 1) {
    await down(dir);
  } else {
    throw new UsageError(`say up or down, not "${positionals.join(' ')}"`);
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        dir: { type: 'string', default: '.controlplane' },
        clusters: { type: 'string', default: '1' },
        controllers: { type: 'boolean', default: false },
        'extra-controllers': { type: 'string', default: '' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function clusterCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= MOST_CLUSTERS) return count;
  throw new UsageError(`--clusters is a number from 1 to ${MOST_CLUSTERS}, not "${text}"`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  const usage = error instanceof UsageError;
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`controlplane: ${message}\n${usage ? USAGE : ''}`);
  process.exitCode = usage ? 2 : 1;
}
