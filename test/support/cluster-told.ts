import { expect } from '@jest/globals';
import type { ClusterState } from '../../core/cluster.ts';
import { eventsOn, type ClusterRig } from './cluster-rig.ts';
import type { ClusterSecretInput } from './cluster-secrets.ts';
import { eventually } from './eventually.ts';
import { runTether } from './processes.ts';

/** Processes that serve the cluster Secrets of one namespace; a ClusterRig is such. */
export interface Served {
  readonly ns: string;
  readonly prefix: string;
  /** All that they have logged so far, as JSON. */
  logs(): string;
}

/** What people are to be told of the cluster of a Secret. */
export interface Telling {
  /** Of the Secret. */
  readonly name: string;
  readonly state: ClusterState;
  /** Text: to be in what is told. */
  readonly reason: string | RegExp;
}

/** Waits until the log and an Event on the Secret say it, each of them once, and `tether status` does. */
export async function expectTold(served: Served, telling: Telling): Promise<void> {
  await expectSaid(served, telling);
  await expectInStatus(served, [telling]);
}

/** The same without `tether status`. */
export async function expectSaid(served: Served, telling: Telling): Promise<void> {
  const { name, state } = telling;
  const matching = matcherOf(telling);
  await eventually(async () => {
    const events = (await eventsOn(served.ns, name)).filter(
      (one) => one.reason === `Cluster${state}`,
    );
    const messages = events.map(({ message }) => message);
    expect({ name, messages }).toEqual({ name, messages: [matching] });
    const lines = warningsOf(served, telling);
    expect({ name, lines }).toEqual({ name, lines: [matching] });
  });
}

interface Status {
  readonly clusters: readonly (Omit<Telling, 'name'> & { readonly secret: string })[];
}

/** Waits until `tether status` says so of each. */
export async function expectInStatus(
  { ns, prefix }: Served,
  tellings: readonly Telling[],
): Promise<void> {
  const expected = tellings.map((one) => [one.name, { state: one.state, reason: matcherOf(one) }]);
  await eventually(async () => {
    const { stdout } = await runTether(['status', '-o', 'json', '--redis-prefix', prefix]);
    const { clusters } = JSON.parse(stdout) as Status;
    const shown = tellings.flatMap(({ name }) =>
      clusters
        .filter(({ secret }) => secret === `${ns}/${name}`)
        .map(({ state, reason }) => [name, { state, reason }]),
    );
    expect(shown).toEqual(expected);
  });
}

/** Something that makes a Secret wrong, by the name that the Secret and its cluster get. */
export type Wrong = readonly [name: string, input: () => Partial<ClusterSecretInput>, why: RegExp];

/**
 * Puts all these Secrets, and waits until each is Invalid with one clear reason: in the registry, in an Event,
 * in one line of all that is logged, and in `tether status`.
 */
export async function expectInvalid(rig: ClusterRig, wrong: readonly Wrong[]): Promise<void> {
  for (const [name, input] of wrong) await rig.put({ name, cluster: name, ...input() });
  const tellings: Telling[] = [];
  for (const [name, , why] of wrong) {
    const { reason } = await rig.decided(name, { verdict: 'Invalid', accepted: null });
    expect([name, reason]).toEqual([name, expect.stringMatching(why)]);
    expect(reason).not.toContain('\n');
    const telling = { name, state: 'Invalid', reason } as const;
    await expectSaid(rig, telling);
    const inLine = JSON.stringify(reason).slice(1, -1);
    const lines = rig
      .logs()
      .split('\n')
      .filter((line) => line.includes(inLine));
    expect([name, lines.length]).toEqual([name, 1]);
    tellings.push(telling);
  }
  await expectInStatus(rig, tellings);
}

function matcherOf({ reason }: Telling): unknown {
  if (typeof reason === 'string') return expect.stringContaining(reason);
  return expect.stringMatching(reason);
}

interface LogLine {
  readonly level: string;
  readonly secret?: string;
  readonly state?: string;
  readonly msg: string;
}

/** What was said at level warn of the Secret in this state. */
function warningsOf({ ns, logs }: Served, { name, state }: Telling): string[] {
  const secret = `${ns}/${name}`;
  const lines = logs()
    .split('\n')
    .filter((line) => line.includes(`"${secret}"`));
  const parsed = lines.map((line) => JSON.parse(line) as LogLine);
  const ours = parsed.filter((line) => line.secret === secret && line.state === state);
  return ours.filter(({ level }) => level === 'warn').map(({ msg }) => msg);
}
