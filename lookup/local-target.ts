import type { ClusterState } from '../core/cluster.ts';
import { shortHash } from '../core/hash.ts';
import type { ServiceRecord } from '../core/records.ts';
import { ClusterTarget, noPort } from './cluster-target.ts';
import { onlyPort, setOf, type EndpointSet, type Item, type ServiceFacts } from './endpoint-set.ts';
import { ageText, type AnswerStatus, type Known, type Refusal } from './known.ts';
import { Following } from './following.ts';
import type { LocalName } from './local-name.ts';
import type { LocalEntry } from './local-names.ts';
import type { Target, World } from './target.ts';

interface Part {
  readonly target: ClusterTarget;
  readonly known: Known;
}

/** A local Service that stands for one of another cluster, or for several: their union. */
export class LocalTarget implements Target {
  readonly #world: World;
  readonly #key: string;
  readonly #port: string;
  /** While somebody watches: the name that counts. A new one does once its members were read. */
  #held: LocalName | null | undefined;
  #members: { readonly of: LocalName; readonly targets: readonly ClusterTarget[] } | undefined;
  #union: { readonly of: string; readonly set: EndpointSet } | undefined;

  constructor(world: World, key: string, port = '') {
    this.#world = world;
    this.#key = key;
    this.#port = port;
  }

  load(): Promise<void> | undefined {
    const { names, directory } = this.#world;
    const entry = this.#entry();
    if (names.isFresh(entry) || (directory.away && entry.known)) return this.#loadMembers(entry);
    return names.refresh(entry).then(() => this.#loadMembers(entry));
  }

  now(): Known {
    const entry = this.#entry();
    const { service, known, current } = entry;
    const name = this.#held === undefined || service === null ? entry.name : this.#held;
    if (!known || (service === null && !current)) return this.#unknown(LOCAL_UNKNOWN);
    if (service === null) return { kind: 'absent', refusal: this.#noService(), status: null };
    if (name === null) return { kind: 'absent', refusal: this.#notRemote(), status: null };
    const parts = this.#targets(name).map((target) => ({ target, known: target.now() }));
    const status = unionStatus(this.#key, { entry, name, parts });
    if (parts.length + name.malformed.length > 0 && !parts.some(isAnswered)) {
      return { kind: 'unknown', refusal: noneKnown(parts, name), status };
    }
    return this.#narrow(this.#unionOf(service, parts), status);
  }

  watch(listener: () => void): () => void {
    const entry = this.#entry();
    const following = new Following(
      () => (entry.name === null ? [] : this.#targetsOf(entry.name)),
      listener,
    );
    this.#held = entry.name;
    following.begin();
    const changed = (): void => {
      if (entry.name === this.#held) return listener();
      following.replace(() => {
        this.#held = entry.name;
        listener();
      });
    };
    entry.listeners.add(changed);
    return () => {
      entry.listeners.delete(changed);
      following.end();
    };
  }

  changedAt(): number | null {
    const times = (this.#members?.targets ?? []).map((target) => target.changedAt() ?? -Infinity);
    const last = Math.max(-Infinity, ...times);
    return last === -Infinity ? null : last;
  }

  #entry(): LocalEntry {
    return this.#world.names.entry(this.#key);
  }

  #targets(name: LocalName): readonly ClusterTarget[] {
    if (this.#members?.of !== name) this.#members = { of: name, targets: this.#targetsOf(name) };
    return this.#members.targets;
  }

  #targetsOf(name: LocalName): readonly ClusterTarget[] {
    return name.members.map((member) => new ClusterTarget(this.#world, member));
  }

  #loadMembers({ name }: LocalEntry): Promise<void> | undefined {
    if (name === null) return undefined;
    const loading = this.#targets(name).flatMap((target) => target.load() ?? []);
    return loading.length === 0 ? undefined : Promise.all(loading).then(() => undefined);
  }

  #unionOf(service: ServiceRecord, parts: readonly Part[]): EndpointSet {
    const sets = parts.flatMap(({ known }) => (known.kind === 'set' ? [known.set] : []));
    const of = [service.rv, ...sets.map(({ version }) => version)].join(' ');
    if (this.#union?.of !== of) {
      const items: Item[] = sets.flatMap((set) => [...set.items.values()]);
      this.#union = { of, set: setOf(factsOf(service), items) };
    }
    return this.#union.set;
  }

  #narrow(set: EndpointSet, status: AnswerStatus): Known {
    const narrowed = this.#port === '' ? set : onlyPort(set, this.#port);
    if (narrowed !== null) return { kind: 'set', set: narrowed, status };
    return { kind: 'absent', refusal: noPort(this.#port, set), status };
  }

  #unknown(refusal: Refusal): Known {
    const { directory } = this.#world;
    const away = directory.away || !directory.known;
    return { kind: 'unknown', refusal: away ? REDIS_AWAY : refusal, status: null };
  }

  #noService(): Refusal {
    return { code: 'ServiceNotFound', error: `there is no Service ${this.#key} in this cluster` };
  }

  #notRemote(): Refusal {
    const error =
      `Service ${this.#key} stands for no Service of another cluster: ` +
      'it has neither the labels nor an annotation of multicluster.linkerd.io for that';
    return { code: 'NotRemote', error };
  }
}

const LOCAL_UNKNOWN: Refusal = {
  code: 'NotSynced',
  error: 'the Services of this cluster are not known yet: does a tether watcher run?',
};
const REDIS_AWAY: Refusal = {
  code: 'Unavailable',
  error: 'Redis does not answer, and this Service is not known yet: try again',
};

function factsOf({ type, clusterIP, ports }: ServiceRecord): ServiceFacts {
  return {
    type,
    headless: clusterIP === 'None',
    ports: ports.map(({ name, port, protocol, appProtocol }) => ({
      name,
      port,
      protocol,
      ...(appProtocol === undefined ? {} : { appProtocol }),
    })),
  };
}

/** Whether a member's part of the union is known, be it that there is none. */
function isAnswered({ known }: Part): boolean {
  return known.kind === 'set' || (known.kind === 'absent' && known.status !== null);
}

function noneKnown(parts: readonly Part[], { malformed }: LocalName): Refusal {
  const [first] = parts.flatMap(({ known }) => (known.kind === 'set' ? [] : [known.refusal.error]));
  const error = first ?? malformed.map(({ text, error: why }) => `${text}: ${why}`).join('; ');
  return { code: 'NotSynced', error: `no member is known: ${error}` };
}

interface Union {
  readonly entry: LocalEntry;
  readonly name: LocalName;
  readonly parts: readonly Part[];
}

function unionStatus(key: string, { entry, name, parts }: Union): AnswerStatus {
  const statuses = parts.flatMap(({ known }) => known.status ?? []);
  const answered = parts.filter(isAnswered);
  const complete = answered.length === parts.length && name.malformed.length === 0;
  const stale = !entry.current || statuses.some((status) => status.stale);
  const state = worst([...statuses.map((status) => status.state), ...(stale ? STALE : [])]);
  const reason = reasonOf(entry, parts);
  const times = answered.map(({ known }) => known.status?.syncedAt ?? null);
  const syncedAt =
    times.includes(null) || times.length === 0 ? null : Math.min(...times.map(Number));
  const slash = key.indexOf('/');
  const about = {
    namespace: key.slice(0, slash),
    service: key.slice(slash + 1),
    kind: name.kind,
    state,
    ...(reason === '' ? {} : { reason }),
    stale,
    complete,
  };
  const text = JSON.stringify(about).slice(0, -1);
  const malformed = name.malformed.map((one) =>
    JSON.stringify({ member: one.text, code: 'Malformed', error: one.error }),
  );
  const head = (now: number): string => {
    const members = [...parts.map((part) => memberText(part, now)), ...malformed];
    return `${text}${ageText(syncedAt, now)},"members":[${members.join(',')}]`;
  };
  const tags = parts.map(({ known }) => `${known.kind}${known.status?.tag ?? ''}`);
  const tag = shortHash([text, ...tags, ...malformed].join('\n'), 8);
  return { state, reason, stale, complete, syncedAt, tag, head };
}

const STALE: readonly ClusterState[] = ['Stale'];

/** From what hurts least to what hurts most. */
function worst(states: readonly ClusterState[]): ClusterState {
  const rank: readonly ClusterState[] = [
    'Ready',
    'Stale',
    'Syncing',
    'Unreachable',
    'Conflict',
    'Invalid',
  ];
  return states.reduce((a, b) => (rank.indexOf(a) >= rank.indexOf(b) ? a : b), 'Ready');
}

function reasonOf(entry: LocalEntry, parts: readonly Part[]): string {
  const own = entry.current ? [] : ['the Services of this cluster are not kept up to date'];
  const others = parts.flatMap(({ target, known }) => {
    const why = known.kind === 'set' ? known.status.reason : known.refusal.error;
    return why === '' ? [] : [`${target.member.key}@${target.member.cluster}: ${why}`];
  });
  return [...own, ...others].join('; ');
}

function memberText({ target, known }: Part, now: number): string {
  const { cluster, key } = target.member;
  const slash = key.indexOf('/');
  const named = { cluster, namespace: key.slice(0, slash), service: key.slice(slash + 1) };
  const head = known.status?.head(now) ?? JSON.stringify(named).slice(0, -1);
  if (known.kind === 'set') return `${head},"endpoints":${known.set.items.size}}`;
  return `${head},${JSON.stringify(known.refusal).slice(1)}`;
}
