import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part, Scene } from '../part.ts';
import { NAMESPACE, showFollowing, showSliceTable, writersSince, writesOf } from '../sample.ts';
import type { TetherProcess } from '../tether-process.ts';

const RACK = 20;
/** How many of them are in the slice when a worker is killed. */
const FIRST = 3;
const BEFORE = ['192.0.2.0 not ready', '192.0.2.7 ready'];

/** Processes die without a chance to clean up, and every change is followed all the same. */
export const lostProcesses: Part = {
  title: 'Any process may die at any moment',
  play: async (scene) => {
    const [up] = scene.stage.running();
    if (up === undefined) throw new TypeError('the part before started tether up');
    const worker = await addProcesses(scene);
    await loseWorker(scene, worker);
    await loseWatcher(scene, up);
  },
};

async function addProcesses({ stage }: Scene): Promise<TetherProcess> {
  stage.say.step('Start a second watcher and a second worker, each a process of its own');
  await stage.start('watcher');
  const worker = await stage.start('worker');
  await stage.type('tether', ['status']);
  return worker;
}

async function loseWorker(scene: Scene, worker: TetherProcess): Promise<void> {
  const { stage, observer } = scene;
  stage.say.step(`Kill a worker while ${RACK} more workloads arrive`);
  const file = join(stage.dir, 'rack.yaml');
  writeFileSync(file, rack());
  const applied = stage.type('kubectl', ['apply', '-f', file], 3);
  // Whoever waits for the endpoints first hears of a failure here as well.
  applied.catch(() => undefined);
  const some = BEFORE.length + FIRST;
  await observer.until(`${some} or more`, (endpoints) => endpoints.length >= some);
  await stage.kill(worker);
  const before = writesOf(stage);
  await applied;
  const all = BEFORE.length + RACK;
  const ms = await observer.until(`${all}`, (endpoints) => endpoints.length === all);
  const writers = await writersSince(stage, before);
  stage.say.result(`all ${RACK} are in, ${ms} ms after the last of them was created${writers}`);
  stage.say.note(
    '(What a dead worker held is taken over after two seconds, all else goes on at once.)',
  );
  await showSliceTable(scene);
}

async function loseWatcher(scene: Scene, up: TetherProcess): Promise<void> {
  const { stage } = scene;
  stage.say.step('Start another worker, then kill `tether up`: a watcher and a worker at once');
  await stage.start('worker');
  await stage.kill(up);
  await showFollowing(scene, BEFORE, () =>
    stage.type('kubectl', ['delete', 'externalworkloads', '-l', 'rack=demo'], 3),
  );
  await showFollowing(scene, ['192.0.2.0 ready', '192.0.2.7 ready'], () =>
    stage.type('tether', ['workload', 'ready', `${NAMESPACE}/test`]),
  );
}

/** Workloads of one rack, as YAML. */
function rack(): string {
  const documents = Array.from({ length: RACK }, (_, index) => ({
    apiVersion: 'workload.linkerd.io/v1beta1',
    kind: 'ExternalWorkload',
    metadata: { name: `rack-${index}`, labels: { app: 'nginx', rack: 'demo' } },
    spec: {
      meshTLS: {
        identity: `spiffe://root.linkerd.cluster.local/rack-${index}`,
        serverName: `rack-${index}.cluster.local`,
      },
      workloadIPs: [{ ip: `192.0.2.${100 + index}` }],
      ports: [{ name: 'http', port: 80 }],
    },
  }));
  // JSON is YAML.
  return documents.map((document) => `---\n${JSON.stringify(document)}\n`).join('');
}
