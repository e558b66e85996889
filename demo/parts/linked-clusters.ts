import { DemoError, LIMIT_MS } from '../demo-error.ts';
import { pollLookups, untilAnswer } from '../lookups.ts';
import type { Part, Scene } from '../part.ts';
import type { Stage } from '../stage.ts';
import { freePort } from '../../platform/process/free-port.ts';
import { within } from '../within.ts';
import type { Follower } from '../follower.ts';

const CLUSTER = 'east';
const SECRET = `cluster-credentials-${CLUSTER}`;
const SERVICE = 'shop/db';
/** How long look-ups go on at each side of a rotation, ms. */
const AROUND_MS = 500;

/** Another cluster is linked, looked into, followed, and unlinked. */
export const linkedClusters: Part = {
  title: 'Services of another cluster can be looked up',
  play: async (scene) => {
    const url = await serve(scene);
    await link(scene, url);
    await localNames(scene, url);
    const follower = await change(scene);
    await rotate(scene, url);
    await unlink(scene, url, follower);
  },
};

/** Gives the URL that look-ups are answered at. */
async function serve({ stage }: Scene): Promise<string> {
  stage.say.step('Start what answers look-ups');
  const address = `127.0.0.1:${await freePort()}`;
  await stage.start('lookup', '--lookup-addr', address);
  return `http://${address}/v1`;
}

async function link({ stage }: Scene, url: string): Promise<void> {
  const { say, otherKubeconfig: other } = stage;
  say.step('Link a second cluster, which has a Service with two endpoints');
  say.note('(Both run on this machine: Tether runs with --clusters-allow-loopback true.)');
  const apply = ['apply', '-f', 'examples/link-cluster/east.yaml'];
  await stage.type('kubectl', ['--kubeconfig', other, ...apply]);
  await stage.type('kubectl', ['create', 'namespace', 'tether']);
  const began = performance.now();
  await stage.type('tether', ['link', '--name', CLUSTER, '--kubeconfig', other]);
  const linked = performance.now();
  await untilAnswer(`${url}/clusters/${CLUSTER}`, 'Ready', ({ state }) => state === 'Ready');
  const [took, ms] = [linked - began, performance.now() - linked].map(Math.round);
  say.result(`linked in ${took} ms; ${ms} ms later all of it is watched and can be looked up`);
  await stage.type('tether', ['lookup', CLUSTER, SERVICE]);
}

async function localNames({ stage }: Scene, url: string): Promise<void> {
  stage.say.step('Look it up by the name of a local Service that stands for it');
  await stage.type('kubectl', ['apply', '-f', 'examples/link-cluster/here.yaml']);
  const path = `${url}/services/shop/db-federated/endpoints`;
  await untilAnswer(path, 'the union', ({ endpoints }) => endpoints?.length === 2);
  await stage.type('tether', ['lookup', 'shop/db-federated']);
  stage.say.note('(West is not linked: its part is missing, and the answer says so.)');
}

/** Leaves the follower running. */
async function change({ stage }: Scene): Promise<Follower> {
  const { say, otherKubeconfig: other } = stage;
  say.step('Follow it, while an endpoint there is taken out of service');
  const follower = stage.follow(['lookup', CLUSTER, SERVICE, '--watch']);
  say.output((await follower.until(/192\.0\.2\.12/)).join('\n'));
  const patch = '[{"op":"replace","path":"/endpoints/0/conditions/ready","value":false}]';
  const args = ['--kubeconfig', other, 'patch', 'endpointslice', 'db-1', '-n', 'shop'];
  await stage.type('kubectl', [...args, '--type=json', '-p', patch]);
  say.output((await follower.until(/^\+ .*192\.0\.2\.11 /)).join('\n'));
  say.result('the follower was told: 192.0.2.11 is not ready any more, though it serves');
  return follower;
}

async function rotate({ stage }: Scene, url: string): Promise<void> {
  const { say, otherKubeconfig: other } = stage;
  say.step('Replace the credential, while it is looked up without a pause');
  const before = await servingOf(stage);
  const polled = pollLookups(`${url}/clusters/${CLUSTER}/services/${SERVICE}/endpoints`);
  await polled.forMs(AROUND_MS);
  await stage.type('tether', ['link', '--name', CLUSTER, '--kubeconfig', other]);
  const deadline = performance.now() + LIMIT_MS;
  while ((await servingOf(stage)) === before) {
    if (performance.now() > deadline) throw new DemoError('the new credential is not in use');
  }
  await polled.forMs(AROUND_MS);
  const { answers, fewest } = await polled.stop();
  say.result(`${answers} look-ups meanwhile, each with ${fewest} endpoints, none refused`);
  await stage.type('tether', ['status']);
}

/** Which content of the Secret look-ups are answered from, by its number. */
async function servingOf(stage: Stage): Promise<number> {
  const report = JSON.parse(await stage.tether('status', '-o', 'json')) as {
    readonly clusters: readonly { readonly serving: number }[];
  };
  return report.clusters[0]?.serving ?? 0;
}

async function unlink({ stage }: Scene, url: string, follower: Follower): Promise<void> {
  stage.say.step('Delete the Secret: the follower is told, and nothing of that cluster is kept');
  await stage.type('kubectl', ['delete', 'secret', '-n', 'tether', SECRET]);
  stage.say.output((await follower.until(/no cluster east|is linked/)).join('\n'));
  await within(follower.ended, LIMIT_MS, 'the follower has not ended');
  const path = `${url}/clusters/${CLUSTER}/services/${SERVICE}/endpoints`;
  const { error = '' } = await untilAnswer(path, 'gone', ({ code }) => code === 'ClusterNotFound');
  stage.say.command(`curl ${path}`);
  stage.say.output(error);
}
