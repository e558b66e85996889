import type { Random } from '../../parity/random.ts';
import { pickWeighted } from './model.ts';
import { MEMBERS, type Fault, type MemberName, type Step } from './steps.ts';

type FaultStep = Extract<Step, { readonly fault: Fault }>;

interface Kind {
  readonly weight: number;
  /** Two faults of one thing are never under way at once. */
  readonly of: (fault: Fault) => string;
  /** At most so many in one phase: what costs seconds of everybody's time. */
  readonly most: number;
  /** How long it lasts, ms. */
  readonly lasts: readonly [number, number];
  make(random: Random): Fault;
}

const WATCHERS = MEMBERS.filter((name) => name.startsWith('watcher'));

const member = (fault: Fault): string => ('member' in fault ? fault.member : '');
const always = (name: string) => (): string => name;

/** Longer than the lock of a key lasts (2 s), so that somebody else takes it over. */
const PAUSE_MS: readonly [number, number] = [2_300, 4_500];

const KINDS: readonly Kind[] = [
  ofMember('kill', 4, [0, 1_500]),
  ofMember('stop', 2, [0, 1_000]),
  ofMember('pause', 4, PAUSE_MS),
  ofMember('unreachable', 2, [300, 4_000]),
  ofMember('silent', 1, [300, 4_000]),
  ofMember('watches held', 3, [300, 4_000], WATCHERS),
  ofRedis('redis killed', 2, [0, 2_500]),
  ofRedis('redis emptied', 1, [0, 1_500]),
  ofRedis('redis frozen', 1, [500, 3_500]),
  ofRedis('redis flushed', 1, [0, 0]),
  ofRedis('redis forgets', 2, [1_000, 4_000]),
  ofApiServer('api server killed'),
  ofApiServer('api server killed and history compacted'),
  ofWay('watches cut', 2, [0, 0], () => ({ fault: 'watches cut' })),
  ofWay('watches gone', 2, [0, 0], () => ({ fault: 'watches gone' })),
  ofWay('refused', 4, [1_000, 4_000], (random) => ({
    fault: 'refused',
    codes: random.pick([[409], [429], [500], [503], [409, 429, 500, 503]]),
    share: random.pick([0.1, 0.3, 0.6]),
  })),
  ofWay('answers lost', 4, [1_000, 4_000], (random) => ({
    fault: 'answers lost',
    share: random.pick([0.1, 0.3, 0.6]),
  })),
  ofWay('slow', 3, [1_000, 4_000], (random) => ({ fault: 'slow', ms: random.int(20, 600) })),
];

function ofMember(
  fault: Extract<Fault, { member: unknown }>['fault'],
  weight: number,
  lasts: readonly [number, number],
  members: readonly MemberName[] = MEMBERS,
): Kind {
  const make = (random: Random): Fault => ({ fault, member: random.pick(members) });
  return { weight, of: member, most: 3, lasts, make };
}

function ofRedis(
  fault: Extract<Fault['fault'], `redis ${string}`>,
  weight: number,
  lasts: readonly [number, number],
): Kind {
  return { weight, of: always('redis'), most: 1, lasts, make: () => ({ fault }) };
}

function ofApiServer(fault: Extract<Fault['fault'], `api server ${string}`>): Kind {
  return {
    weight: 0.7,
    of: always('api server'),
    most: 1,
    lasts: [0, 2_000],
    make: () => ({ fault }),
  };
}

function ofWay(
  name: Fault['fault'],
  weight: number,
  lasts: readonly [number, number],
  make: (random: Random) => Fault,
): Kind {
  return { weight, of: always(name), most: 3, lasts, make };
}

/** Nothing begins in the last moments of a phase. */
const REST_MS = 500;

/** The faults of one phase, each over before the phase is. */
export function faultsOf(random: Random, lengthMs: number): FaultStep[] {
  const steps: FaultStep[] = [];
  const busyUntil = new Map<string, number>();
  const used = new Map<string, number>();
  let at = random.int(300, 2_000);
  for (; at < lengthMs - REST_MS; at += random.int(200, 2_200)) {
    const kind = pickWeighted(
      random,
      KINDS.map((one) => [one.weight, one] as const),
    );
    const fault = kind.make(random);
    const of = kind.of(fault);
    const group = of === '' ? fault.fault : of;
    const forMs = Math.min(random.int(...kind.lasts), lengthMs - at);
    if ((busyUntil.get(of) ?? 0) > at || (used.get(group) ?? 0) >= kind.most) continue;
    busyUntil.set(of, at + forMs + REST_MS);
    used.set(group, (used.get(group) ?? 0) + 1);
    steps.push({ at, forMs, fault });
  }
  return steps;
}
