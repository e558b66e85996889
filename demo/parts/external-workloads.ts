import type { Part, Scene } from '../part.ts';
import {
  NAMESPACE,
  showFollowing,
  showSliceColumns,
  showSliceTable,
  showSliceYaml,
} from '../sample.ts';

const TEST = `${NAMESPACE}/test`;
const BETA = `${NAMESPACE}/test-beta`;

/** Workloads outside of the cluster become endpoints of a Service, and every change is followed. */
export const externalWorkloads: Part = {
  title: 'External workloads become EndpointSlices',
  play: async (scene) => {
    await install(scene);
    await apply(scene);
    await readiness(scene);
    await address(scene);
    await labels(scene);
  },
};

async function install({ stage }: Scene): Promise<void> {
  stage.say.step('Install the kind ExternalWorkload, and start Tether');
  await stage.type('tether', ['install']);
  await stage.start('up');
}

async function apply(scene: Scene): Promise<void> {
  const { stage, observer } = scene;
  stage.say.step('Apply a Service and two workloads, one of each API version');
  await stage.type('kubectl', ['apply', '-f', 'examples/external-workload/']);
  const wanted = '192.0.2.0 not ready, 192.0.2.1 not ready';
  await observer.until(wanted, (endpoints) => endpoints.join(', ') === wanted);
  stage.say.result(
    'both are endpoints already, and get no traffic: nobody said that they are ready',
  );
  await showSliceTable(scene);
  await stage.type('kubectl', ['get', 'externalworkloads']);
}

async function readiness(scene: Scene): Promise<void> {
  const { stage } = scene;
  stage.say.step('Say that they take traffic');
  await showFollowing(scene, ['192.0.2.0 ready', '192.0.2.1 not ready'], () =>
    stage.type('tether', ['workload', 'ready', TEST]),
  );
  await showFollowing(scene, ['192.0.2.0 ready', '192.0.2.1 ready'], () =>
    stage.type('tether', ['workload', 'ready', BETA]),
  );
  await showSliceYaml(scene);
  stage.say.step('Take one out of traffic; from here on the slice is shown by this command');
  await showSliceColumns(scene);
  await showFollowing(scene, ['192.0.2.0 not ready', '192.0.2.1 ready'], () =>
    stage.type('tether', ['workload', 'unready', TEST]),
  );
}

async function address(scene: Scene): Promise<void> {
  const { stage } = scene;
  stage.say.step('Edit the address of a workload');
  const patch = JSON.stringify({ spec: { workloadIPs: [{ ip: '192.0.2.7' }] } });
  await showFollowing(scene, ['192.0.2.0 not ready', '192.0.2.7 ready'], () =>
    stage.type('kubectl', ['patch', 'externalworkload', 'test-beta', '--type=merge', '-p', patch]),
  );
}

async function labels(scene: Scene): Promise<void> {
  const { stage } = scene;
  const label = (value: string) => ['label', 'externalworkload', 'test', value, '--overwrite'];
  stage.say.step('Change a label, so that the Service selects the workload no more; and back');
  await showFollowing(scene, ['192.0.2.7 ready'], () => stage.type('kubectl', label('app=other')));
  await showFollowing(scene, ['192.0.2.0 not ready', '192.0.2.7 ready'], () =>
    stage.type('kubectl', label('app=nginx')),
  );
}
