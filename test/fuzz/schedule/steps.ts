/** What a schedule is made of: plain data, so that it can be printed, compared and replayed. */

export interface Target {
  readonly namespace: string;
  readonly name: string;
}

/** What somebody changes in a slice of ours by hand. */
export type Edit =
  | 'drop an endpoint'
  | 'add an endpoint'
  | 'unready an endpoint'
  | 'change a label'
  | 'add a label'
  | 'change the ports'
  | 'move to another Service'
  | 'give away';

/** What is done to the slices of a Service by hand; the last two are slices of others. */
export type Damage =
  Edit | 'delete' | 'copy' | 'copy without owner' | 'foreign slice' | 'delete foreign slice';

/** One change of the world, made by a user of the cluster. */
export type Action =
  | { readonly do: 'create service'; readonly target: Target; readonly body: object }
  | { readonly do: 'patch service'; readonly target: Target; readonly body: object }
  | { readonly do: 'delete service'; readonly target: Target }
  | {
      readonly do: 'create workload';
      readonly target: Target;
      readonly body: object;
      readonly ready: boolean | null;
    }
  | { readonly do: 'patch workload'; readonly target: Target; readonly body: object }
  | { readonly do: 'say ready'; readonly target: Target; readonly ready: boolean }
  | { readonly do: 'delete workload'; readonly target: Target }
  | {
      readonly do: 'damage';
      /** The Service. */
      readonly target: Target;
      readonly how: Damage;
      /** Which of its slices, and of their endpoints: counted round. */
      readonly pick: number;
    }
  /** Somebody asks for this Service now. */
  | { readonly do: 'reconcile'; readonly target: Target };

export const MEMBERS = ['watcher-0', 'watcher-1', 'worker-0', 'worker-1'] as const;
export type MemberName = (typeof MEMBERS)[number];

/** Something that fails, for as long as its step says. */
export type Fault =
  | { readonly fault: 'kill' | 'stop' | 'pause'; readonly member: MemberName }
  | {
      readonly fault:
        | 'redis killed'
        | 'redis emptied'
        | 'redis frozen'
        | 'redis flushed'
        // Some workloads are missing from the view, until the watchers list everything.
        | 'redis forgets';
    }
  | { readonly fault: 'api server killed' | 'api server killed and history compacted' }
  | { readonly fault: 'unreachable' | 'silent' | 'watches held'; readonly member: MemberName }
  | { readonly fault: 'watches cut' | 'watches gone' }
  | { readonly fault: 'refused'; readonly codes: readonly number[]; readonly share: number }
  | { readonly fault: 'answers lost'; readonly share: number }
  | { readonly fault: 'slow'; readonly ms: number };

export type Step =
  | { readonly at: number; readonly action: Action }
  | { readonly at: number; readonly forMs: number; readonly fault: Fault };

/** Changes and faults up to the next quiet point. */
export interface Phase {
  readonly index: number;
  readonly lengthMs: number;
  /** By time, ms since the phase began. */
  readonly steps: readonly Step[];
}

export function keyOf({ namespace, name }: Target): string {
  return `${namespace}/${name}`;
}

/** One line a step, for people. */
export function describeStep(step: Step): string {
  const at = `${(step.at / 1000).toFixed(3).padStart(7)} s`;
  if ('fault' in step) return `${at}  FAULT ${describeFault(step.fault)} for ${step.forMs} ms`;
  const { do: what, target, ...rest } = step.action;
  const details = Object.keys(rest).length === 0 ? '' : ` ${JSON.stringify(rest)}`;
  return `${at}  ${what} ${keyOf(target)}${details}`;
}

export function describeFault({ fault, ...rest }: Fault): string {
  const details = Object.values(rest).map((value) => JSON.stringify(value));
  return [fault, ...details].join(' ');
}
