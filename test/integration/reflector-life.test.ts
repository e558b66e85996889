import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { createKubeClient } from '../../platform/kube/client.ts';
import { staticCredentials } from '../../platform/kube/credentials.ts';
import { spawnTied } from '../../platform/process/tied-child.ts';
import { eventually } from '../support/eventually.ts';
import { blackHole, cut, refuse } from '../support/misbehaviours.ts';
import { RecordingSink } from '../support/recording-sink.ts';
import { reflectorRig } from '../support/reflector-rig.ts';

const rig = reflectorRig();

/** Sockets and timers of this process; the server's own sockets are among them. */
const running = () =>
  process.getActiveResourcesInfo().filter((name) => /TCPSocket|TLSSocket|Timeout/.test(name))
    .length;

describe('one loop', () => {
  test('is all there is after 50 cuts, and the cache is right (reports 79 and 90)', async () => {
    rig.api.put('o0');
    rig.start();
    for (let n = 1; n <= 50; n += 1) {
      await rig.watching();
      rig.api.endWatches(n % 2 === 0 ? 'abruptly' : 'mid-line');
      await eventually(() => expect(rig.api.seen('watch')).toHaveLength(n + 1));
      rig.api.remove(`o${n - 1}`);
      rig.api.put(`o${n}`);
      await rig.sees(`o${n}`);
    }
    await rig.watching();
    expect(rig.api.seen('watch').length).toBe(51);
    expect(rig.api.seen('list')).toHaveLength(1);
    // One for the lists, which is kept for a while, and one for the watch.
    expect(rig.api.openSockets).toBeLessThanOrEqual(2);
  });

  test('comes back by itself after an outage, with few tries (report 90)', async () => {
    rig.start({ backoff: { baseMs: 20, capMs: 200 } });
    await rig.watching();
    rig.api.always('watch', cut);
    rig.api.endWatches('abruptly');
    const from = performance.now();
    await eventually(() => expect(performance.now() - from).toBeGreaterThan(1000));
    const tries = rig.api.seen('watch').length - 1;
    rig.api.always('watch', undefined);
    rig.api.put('a');
    await rig.sees('a');
    // 20 + 40 + 80 + 160 + 200 … ms, halved at most by the jitter.
    expect(tries).toBeLessThanOrEqual(15);
    expect(tries).toBeGreaterThanOrEqual(4);
  });

  test('outlives a server that is frozen with its connections open (report 85)', async () => {
    const program = join(import.meta.dirname, '../support/misbehaving-api.ts');
    const child = spawnTied(process.execPath, [program], { stdout: 'pipe' });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (output += text));
    await eventually(() => expect(output).toContain('\n'));
    const server = `http://127.0.0.1:${output.trim()}`;
    const client = createKubeClient({
      server,
      insecure: false,
      credentials: staticCredentials({}),
    });
    rig.start({ client, idleMs: 500 });
    try {
      await rig.sees('a', 'b');
      await eventually(() => expect(rig.reflector.health().state.kind).toBe('watching'));
      child.signal('SIGSTOP');
      await eventually(() => expect(rig.reflector.health().state.kind).toBe('retrying'));
      expect(rig.reflector.health().lastError).toContain('silent for 0.5 s');
      child.signal('SIGCONT');
      await eventually(() => expect(rig.reflector.health().state.kind).toBe('watching'));
    } finally {
      await rig.reflector.stop();
      await client.close();
      child.signal('SIGCONT');
      await child.stop(0);
    }
  });
});

describe('stop', () => {
  test('ends a watch at once and leaves no socket and no timer (report 79)', async () => {
    const before = running();
    rig.start();
    await rig.watching();
    await rig.reflector.stop();
    expect(rig.sink.stateKinds.at(-1)).toBe('stopped');
    await eventually(() => expect(rig.api.openWatches).toBe(0));
    await rig.client.close();
    await eventually(() => expect(rig.api.openSockets).toBe(0));
    expect(running()).toBeLessThanOrEqual(before);
    const told = rig.sink.states.length;
    rig.api.put('a');
    expect(rig.sink.events).toEqual([]);
    expect(rig.sink.states).toHaveLength(told);
  });

  test('ends a long backoff at once', async () => {
    rig.api.always('list', refuse(500));
    rig.start({ backoff: { baseMs: 60_000, capMs: 60_000 } });
    await eventually(() => expect(rig.sink.stateKinds).toContain('retrying'));
    const from = performance.now();
    await rig.reflector.stop();
    expect(performance.now() - from).toBeLessThan(1000);
  });

  test.each([
    ['a list', 'list'],
    ['a watch', 'watch'],
  ] as const)('ends %s that is never answered', async (_name, verb) => {
    rig.api.always(verb, blackHole);
    rig.start();
    await eventually(() => expect(rig.api.seen(verb)).toHaveLength(1));
    const from = performance.now();
    await rig.reflector.stop();
    expect(performance.now() - from).toBeLessThan(1000);
    await rig.client.close();
    await eventually(() => expect(rig.api.openSockets).toBe(0));
  });

  test('does not wait for a consumer that hangs', async () => {
    rig.api.put('a');
    const gate = Promise.withResolvers<void>();
    sinkHangs(gate.promise);
    rig.start();
    await eventually(() => expect(rig.api.seen('list')).toHaveLength(1));
    await rig.reflector.stop();
    gate.resolve();
    expect(rig.sink.abandoned).toBe(1);
  });

  test('after 100 lives leaves sockets and timers as they were (report 78)', async () => {
    rig.api.put('a');
    const before = running();
    for (let n = 0; n < 100; n += 1) {
      rig.sink = new RecordingSink();
      rig.start();
      // Some end while they list, some while they watch.
      if (n % 3 > 0) await rig.sees('a');
      await rig.reflector.stop();
    }
    await eventually(() => expect(rig.api.openWatches).toBe(0));
    await rig.client.close();
    await eventually(() => expect(rig.api.openSockets).toBe(0));
    expect(running()).toBeLessThanOrEqual(before);
  });

  test('before the first answer, and twice, is fine', async () => {
    rig.start();
    await Promise.all([rig.reflector.stop(), rig.reflector.stop()]);
    expect(rig.sink.stateKinds.filter((kind) => kind === 'stopped')).toHaveLength(1);
  });
});

const sinkHangs = (until: Promise<void>): void => {
  rig.sink.onPageHook = () => until;
};

test('health tells the age of the last contact, not that something answers (report 85)', async () => {
  rig.start();
  await rig.watching();
  await eventually(() => expect(rig.reflector.health().lastContactMs).toBeGreaterThan(100));
  rig.api.bookmark('7000');
  await eventually(() => expect(rig.reflector.health().lastContactMs).toBeLessThan(100));
  expect(rig.reflector.health()).toMatchObject({
    state: { kind: 'watching' },
    resourceVersion: '7000',
    restarts: 0,
    lists: 1,
  });
});
