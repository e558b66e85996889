import { describe, expect, test } from '@jest/globals';
import { startSliceReader } from '../support/churn-reader.ts';
import { chosenSeed } from '../support/churn.ts';
import {
  createService,
  createWorkload,
  endpointsOf,
  mergePatch,
  workloadPath,
} from '../support/objects.ts';
import { reconcileRig } from '../support/reconcile-rig.ts';
import { Random } from '../parity/random.ts';

const rig = reconcileRig();

const port = (number: number): object => ({ name: 'http', port: number, protocol: 'TCP' });

describe('a reader never misses an endpoint that both the old and the new state have (H2)', () => {
  test('when it moves into a slice that is new, and back into one that was there', async () => {
    await createService(rig.ns, 'web', {
      spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    });
    const ips = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
    for (const [at, ip] of ips.entries())
      await createWorkload(rig.ns, `vm-${at}`, 'web', { ips: [ip] });
    await rig.see();
    await rig.run('web');
    const reader = await startSliceReader(rig.ns);
    try {
      reader.expectAlways(ips);
      // New slice; out of it into the old one; all at once; the last one in the old slice.
      for (const [name, number] of [
        ['vm-0', 9090],
        ['vm-1', 9090],
        ['vm-0', 8080],
        ['vm-0', 9090],
        ['vm-2', 9090],
      ] as const) {
        await mergePatch(workloadPath(rig.ns, name), { spec: { ports: [port(number)] } });
        await rig.see();
        expect(await rig.run('web')).toMatchObject({ kind: 'done' });
      }
      await reader.caughtUp();
      expect(reader.takeMissing()).toEqual([]);
    } finally {
      await reader.stop();
    }
    expect(await endpointsOf(rig.ns, 'web')).toEqual(ips.map((ip) => `${ip} 9090 ready`));
  });

  test('when any of them move at random between three slices of little room', async () => {
    const seed = chosenSeed();
    const random = new Random(seed);
    rig.deps = { ...rig.deps, plan: { ...rig.deps.plan, maxEndpointsPerSlice: 3 } };
    await createService(rig.ns, 'web', {
      spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    });
    const names = Array.from({ length: 8 }, (_, at) => `vm-${at}`);
    const ipOf = (name: string): string => `192.0.2.${names.indexOf(name) + 1}`;
    for (const name of names) await createWorkload(rig.ns, name, 'web', { ips: [ipOf(name)] });
    await rig.see();
    await rig.run('web');
    const reader = await startSliceReader(rig.ns);
    try {
      reader.expectAlways(names.map(ipOf));
      for (let round = 0; round < 12; round += 1) {
        for (const name of random.some(names, 0.4)) {
          const ports = [port(random.pick([8080, 9090, 7070]))];
          await mergePatch(workloadPath(rig.ns, name), { spec: { ports } });
        }
        await rig.see();
        expect(await rig.run('web')).toMatchObject({ kind: 'done' });
      }
      await reader.caughtUp();
      expect({ seed, missing: reader.takeMissing() }).toEqual({ seed, missing: [] });
    } finally {
      await reader.stop();
    }
    expect(await endpointsOf(rig.ns, 'web')).toHaveLength(names.length);
  });

  test('when the write that adds it elsewhere fails: the one that drops it is not made', async () => {
    await createService(rig.ns, 'web', {
      spec: { ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    });
    await createWorkload(rig.ns, 'a', 'web', { ips: ['192.0.2.1'] });
    await createWorkload(rig.ns, 'b', 'web', { ips: ['192.0.2.2'] });
    await rig.see();
    await rig.run('web');
    await mergePatch(workloadPath(rig.ns, 'b'), { spec: { ports: [port(9090)] } });
    await rig.see();
    rig.api.forget();
    rig.api.before = ({ verb }) => {
      if (verb === 'create') throw new Error('socket hang up');
    };
    expect(await rig.run('web')).toMatchObject({ kind: 'retry' });
    expect(rig.api.writes()).toHaveLength(1);
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 ready',
      '192.0.2.2 8080 ready',
    ]);
    rig.api.before = () => undefined;
    expect(await rig.run('web')).toMatchObject({ kind: 'done' });
    expect(await endpointsOf(rig.ns, 'web')).toEqual([
      '192.0.2.1 8080 ready',
      '192.0.2.2 9090 ready',
    ]);
  });
});
