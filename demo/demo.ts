import { parseArgs } from 'node:util';
import { describeError } from '../core/errors.ts';
import { createNarrator, type Narrator } from './narrator.ts';
import { startObserver } from './observer.ts';
import type { Part } from './part.ts';
import { externalWorkloads } from './parts/external-workloads.ts';
import { linkedClusters } from './parts/linked-clusters.ts';
import { lostProcesses } from './parts/lost-processes.ts';
import { NAMESPACE, SERVICE } from './sample.ts';
import { isEmpty, makeDir, removeDir, setUpStage, type Stage } from './stage.ts';

const PARTS: readonly Part[] = [externalWorkloads, lostProcesses, linkedClusters];

const USAGE = `usage: npm run demo [-- --keep]

Shows Tether at work on a control plane of its own and a Redis (a private one, unless
TETHER_REDIS_URL names one), and ends all that it started.
--keep   leaves everything running until Ctrl-C, and says how to reach it
`;

/** The user has seen enough. */
class InterruptedError extends Error {}

/** Plays all parts; then ends, or with `keep` stays until it is interrupted. */
async function play(stage: Stage, owned: AsyncDisposableStack, keep: boolean): Promise<void> {
  const begin = performance.now();
  const observer = await startObserver(stage.kubeconfig, NAMESPACE, SERVICE);
  owned.defer(() => observer.close());
  for (const part of PARTS) {
    stage.say.title(part.title);
    await part.play({ stage, observer });
  }
  stage.say.title(`Done in ${seconds(begin)}: every change was followed`);
  if (!keep) return;
  showHowToReach(stage);
  await stage.failed;
}

function showHowToReach(stage: Stage): void {
  const { say, kubeconfig, redisUrlFile, redisPrefix, kubectlProgram, dir } = stage;
  say.note('All of it stays up until Ctrl-C. In another terminal:');
  say.command(`export KUBECONFIG=${kubeconfig}`);
  say.command(
    `export TETHER_REDIS_URL="$(cat ${redisUrlFile})" TETHER_REDIS_PREFIX=${redisPrefix}`,
  );
  say.command(`${kubectlProgram} get endpointslices`);
  say.command(`npx tether explain ${NAMESPACE}/${SERVICE}`);
  say.note(
    `Running: ${stage
      .running()
      .map(({ name }) => name)
      .join(', ')}. Logs: ${dir}`,
  );
}

async function run(say: Narrator, keep: boolean, interrupted: Promise<never>): Promise<number> {
  const dir = makeDir();
  const owned = new AsyncDisposableStack();
  const work = async (): Promise<void> => {
    const begin = performance.now();
    say.note('Starting two clusters (etcd, kube-apiserver, garbage collector) and a Redis …');
    const stage = await setUpStage(say, dir, owned);
    say.result(`all are up after ${seconds(begin)}; KUBECONFIG is ${stage.kubeconfig}`);
    await Promise.race([play(stage, owned, keep), stage.failed]);
  };
  let failure: unknown;
  const working = work();
  // What is under way when the demo is interrupted fails as its processes end.
  working.catch(() => undefined);
  try {
    await Promise.race([working, interrupted]);
  } catch (error) {
    failure = error;
  }
  await owned.disposeAsync();
  const wanted = failure === undefined || failure instanceof InterruptedError;
  if (wanted || isEmpty(dir)) removeDir(dir);
  if (failure === undefined) return 0;
  if (failure instanceof InterruptedError) return keep ? 0 : 130;
  if (failure instanceof TypeError) throw failure;
  complain(describeError(failure) + (isEmpty(dir) ? '' : `. Logs: ${dir}`));
  return 1;
}

function untilInterrupted(): Promise<never> {
  return new Promise((_, reject) => {
    // Ctrl-C in a terminal comes twice, from the terminal and from npm: once is enough.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => reject(new InterruptedError(signal)));
    }
    process.stdout.on('error', () => reject(new InterruptedError('nobody reads any more')));
  });
}

function parse(): { readonly keep: boolean; readonly help: boolean } | undefined {
  const options = {
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    complain(`${describeError(error)}\n${USAGE}`);
    return undefined;
  }
}

function complain(text: string): void {
  process.stderr.write(`demo: ${text.trimEnd()}\n`);
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

async function main(): Promise<number> {
  const given = parse();
  if (given === undefined) return 2;
  if (given.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const colour = process.stdout.isTTY === true && !process.env['NO_COLOR'];
  const say = createNarrator((line) => process.stdout.write(`${line}\n`), colour);
  return run(say, given.keep, untilInterrupted());
}

process.exit(await main());
