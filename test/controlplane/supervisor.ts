import { parseArgs } from 'node:util';
import { controlPlaneBinaries } from './binaries.ts';
import { startControlPlane, type ControlPlane } from './cluster.ts';
import { identify, type ProcessIdentity } from './identity.ts';
import { writeState } from './state.ts';

// The process that `up` leaves behind. Its children are tied to it, so that killing it ends all.

const { values } = parseArgs({
  options: {
    dir: { type: 'string' },
    clusters: { type: 'string', default: '1' },
    'controllers-everywhere': { type: 'boolean', default: false },
    'extra-controllers': { type: 'string', default: '' },
  },
});

async function supervise(dir: string): Promise<void> {
  const asked = Promise.withResolvers<void>();
  process.once('SIGTERM', () => asked.resolve());
  process.once('SIGINT', () => asked.resolve());
  const binaries = await controlPlaneBinaries();
  const controlPlane = await startControlPlane({
    binaries,
    dir,
    clusters: Number(values.clusters),
    controllersEverywhere: values['controllers-everywhere'],
    extraControllers: values['extra-controllers'].split(',').filter((name) => name !== ''),
  });
  try {
    writeState(dir, {
      supervisor: { pid: process.pid, startedAt: identify(process.pid)?.startedAt ?? '' },
      processes: identifyAll(controlPlane),
      clusters: controlPlane.clusters.map(({ name, server, kubeconfig }) => ({
        name,
        server,
        kubeconfig,
      })),
      kubectl: binaries.kubectl,
    });
    await Promise.race([asked.promise, controlPlane.failed]);
  } finally {
    await controlPlane.stop();
  }
}

function identifyAll(controlPlane: ControlPlane): (ProcessIdentity & { name: string })[] {
  return controlPlane.processes().flatMap(({ name, pid }) => {
    const identity = identify(pid);
    return identity === undefined ? [] : [{ name, ...identity }];
  });
}

try {
  if (values.dir === undefined) throw new Error('--dir is missing');
  await supervise(values.dir);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
