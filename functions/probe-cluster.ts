import { ApiError, describeError, UnreachableError } from '../core/errors.ts';
import { excerpt } from '../platform/kube/answers.ts';
import type { KubeClient } from '../platform/kube/client.ts';

/** What a probe found; `reason` is one sentence for a person, the same at each try, no credential in it. */
export type ProbeResult =
  { readonly ok: true; readonly version: string } | { readonly ok: false; readonly reason: string };

/** All questions together must be answered within this time, ms. */
export const PROBE_DEADLINE_MS = 10_000;

/** What remote discovery does with each kind. */
const VERBS = ['get', 'list', 'watch'] as const;

interface Kind {
  readonly group: string;
  readonly resource: string;
}

const WORKLOADS: Kind = { group: 'workload.linkerd.io', resource: 'externalworkloads' };
const ALWAYS: readonly Kind[] = [
  { group: '', resource: 'services' },
  { group: 'discovery.k8s.io', resource: 'endpointslices' },
];

class DeadlineError extends Error {}

/**
 * Asks another cluster's API server who it is, and whether our credentials have the rights that remote
 * discovery needs. A cluster without ExternalWorkloads is fine. Makes no write.
 *
 * @throws the signal's reason when it is aborted; all else is in the result.
 */
export async function probeCluster(client: KubeClient, signal: AbortSignal): Promise<ProbeResult> {
  const ending = new AbortController();
  const follow = (): void => ending.abort(signal.reason);
  signal.addEventListener('abort', follow, { once: true });
  const timer = setTimeout(() => ending.abort(new DeadlineError()), PROBE_DEADLINE_MS);
  try {
    signal.throwIfAborted();
    return await ask(client, ending.signal);
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, reason: reasonOf(client.server, error) };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', follow);
    // Of several questions the first that fails is told; the others need not go on.
    ending.abort();
  }
}

async function ask(client: KubeClient, signal: AbortSignal): Promise<ProbeResult> {
  const version = await readVersion(client, signal);
  const kinds = (await servesWorkloads(client, signal)) ? [...ALWAYS, WORKLOADS] : ALWAYS;
  const asked = kinds.flatMap((kind) => VERBS.map((verb) => ({ kind, verb })));
  const answers = await Promise.all(
    asked.map(async (one) => ({ ...one, allowed: await isAllowed(client, one, signal) })),
  );
  const missing = answers.filter(({ allowed }) => !allowed);
  if (missing.length === 0) return { ok: true, version };
  const lacks = kinds.flatMap(({ resource }) => {
    const verbs = missing.filter(({ kind }) => kind.resource === resource);
    return verbs.length === 0 ? [] : [`${verbs.map(({ verb }) => verb).join(', ')} ${resource}`];
  });
  const reason =
    `${client.server}: the Secret's credentials lack rights (${lacks.join('; ')}): ` +
    'bind their account there to the ClusterRole of infra/rbac/remote.yaml';
  return { ok: false, reason };
}

/** The deadline of the whole probe is what ends a request. */
const TIMEOUT = { timeoutMs: 2 * PROBE_DEADLINE_MS };

async function readVersion(client: KubeClient, signal: AbortSignal): Promise<string> {
  const what = 'get version';
  try {
    const found = await client.get<{ readonly gitVersion?: unknown } | null>('/version', {
      what,
      signal,
      ...TIMEOUT,
    });
    const version = found?.gitVersion;
    if (typeof version === 'string' && version !== '') return excerpt(version);
  } catch (error) {
    // Where even that is kept from those who logged in, the rights are what counts.
    if (error instanceof ApiError && error.status === 403) return 'unknown';
    throw error;
  }
  throw new UnreachableError(what, new Error(`${client.server} is no Kubernetes API server`));
}

/** Any version of the group will do. */
async function servesWorkloads(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  try {
    const options = { what: 'discover externalworkloads', signal, ...TIMEOUT };
    await client.get<object>(`/apis/${WORKLOADS.group}`, options);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    // Not to be known: then the rights decide.
    if (error instanceof ApiError && error.status === 403) return true;
    throw error;
  }
}

async function isAllowed(
  client: KubeClient,
  { kind, verb }: { readonly kind: Kind; readonly verb: string },
  signal: AbortSignal,
): Promise<boolean> {
  const { group, resource } = kind;
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { group, resource, verb } },
  };
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
  const what = `ask whether ${verb} ${resource} is allowed`;
  try {
    const answer = await client.create<{ readonly status?: { readonly allowed?: unknown } }>(
      path,
      review,
      { what, signal, ...TIMEOUT },
    );
    return answer.status?.allowed === true;
  } catch (error) {
    // Who may not even ask may have the rights all the same: the watches will tell.
    if (error instanceof ApiError && error.status === 403) return true;
    throw error;
  }
}

function reasonOf(server: string, error: unknown): string {
  if (error instanceof DeadlineError) {
    return `${server} gave no answer within ${PROBE_DEADLINE_MS / 1000} s: is a firewall between?`;
  }
  if (!(error instanceof ApiError)) {
    return describeError(error instanceof UnreachableError ? error.cause : error);
  }
  const { status, failure } = error;
  if (status === 401) {
    return `${server} refuses the Secret's credentials (401): put a valid token or certificate there`;
  }
  const words = excerpt(failure.message);
  const said = `${server} answered ${[status, failure.reason].join(' ').trim()}: ${words}`;
  return `${said}; is this the address of an API server?`;
}
