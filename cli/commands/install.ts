import { setTimeout as delay } from 'node:timers/promises';
import { ApiError } from '../../core/errors.ts';
import type { KubeClient } from '../../platform/kube/client.ts';
import { CRD_NAME, crdOwner, loadCrdManifest } from '../../platform/kube/crd.ts';
import type { CommandInput, Io } from '../command.ts';
import { CommandError } from '../failures.ts';
import { withKube } from '../roles/clients.ts';
import { serverSideApply } from '../server-side-apply.ts';

const PATH = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${CRD_NAME}`;
const OBJECT = `customresourcedefinition ${CRD_NAME}`;
/** What we need of a definition that is somebody else's. */
const NEEDED_VERSION = 'v1beta1';
const SERVED_TIMEOUT_MS = 30_000;
const POLL_MS = 100;

/** A CustomResourceDefinition, as far as it matters here. */
interface Crd {
  readonly metadata?: { readonly resourceVersion?: string };
  readonly spec?: {
    readonly versions?: readonly { readonly name: string; readonly served: boolean }[];
  };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message?: string;
    }[];
  };
}

/**
 * Applies the CRD of ExternalWorkload (server-side apply) and waits until it is served. One that
 * somebody else installed stays as it is, unless `--force` is given; so does one that this account may use
 * and not read, as the roles of infra/rbac may.
 */
export function run({ config, flags }: CommandInput, io: Io): Promise<number> {
  return withKube(config, async (client) => {
    const force = flags['force'] === true;
    const present = await readIfAllowed(client, force, io.signal);
    if (present === 'unseen') {
      io.out(`${CRD_NAME}: served, and left as it is, as this account may not read its definition`);
      return 0;
    }
    const owner = present === null ? null : crdOwner(present);
    if (present !== null && owner?.kind === 'other' && !force) {
      io.out(`${CRD_NAME}: left as it is, as it belongs to ${owner.name}; --force takes it over`);
      return checkForeign(present, io);
    }
    const applied = await apply(client, force, io.signal);
    await untilServed(client, io.signal);
    io.out(`${CRD_NAME}: ${whatHappened(present, applied)}, and served`);
    return 0;
  });
}

/** `unseen`: it is there, and this account may not read it. Who takes it over has to. */
async function readIfAllowed(
  client: KubeClient,
  force: boolean,
  signal: AbortSignal,
): Promise<Crd | null | 'unseen'> {
  try {
    return await read(client, signal);
  } catch (error) {
    const forbidden = error instanceof ApiError && error.status === 403;
    if (!force && forbidden && (await tryList(client, signal)) === 200) return 'unseen';
    throw error;
  }
}

async function read(client: KubeClient, signal: AbortSignal): Promise<Crd | null> {
  try {
    return await client.get<Crd>(PATH, { what: `get ${OBJECT}`, signal });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** A definition of others will do if it serves the version that Tether reads. */
function checkForeign(crd: Crd, io: Io): number {
  const served = (crd.spec?.versions ?? []).filter((version) => version.served);
  if (served.some(({ name }) => name === NEEDED_VERSION)) return 0;
  const names = served.map(({ name }) => name).join(', ');
  io.err(`tether: it serves ${names || 'no version'}, and Tether needs ${NEEDED_VERSION}`);
  return 1;
}

function apply(client: KubeClient, force: boolean, signal: AbortSignal): Promise<Crd> {
  const applied = { name: OBJECT, path: PATH, object: loadCrdManifest(), force };
  return serverSideApply<Crd>(client, applied, signal);
}

function whatHappened(before: Crd | null, after: Crd): string {
  if (before === null) return 'created';
  const same = before.metadata?.resourceVersion === after.metadata?.resourceVersion;
  return same ? 'unchanged' : 'updated';
}

/**
 * Waits until the kind answers. Established comes a moment before: until its storage is set up, the
 * API server answers 404 or 429 (seen).
 */
async function untilServed(client: KubeClient, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + SERVED_TIMEOUT_MS;
  while (!((await isEstablished(client, signal)) && (await answers(client, signal)))) {
    if (performance.now() > deadline) {
      throw new CommandError(
        `${CRD_NAME}: applied, but the API server does not serve it after ` +
          `${SERVED_TIMEOUT_MS / 1000} s: kubectl describe crd ${CRD_NAME} says why`,
      );
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

async function isEstablished(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const conditions = (await read(client, signal))?.status?.conditions ?? [];
  const refused = conditions.find(
    ({ type, status }) => type === 'NamesAccepted' && status === 'False',
  );
  if (refused) {
    const why = refused.message ?? 'no reason given';
    throw new CommandError(`${CRD_NAME}: its names are taken: ${why}`);
  }
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}

async function answers(client: KubeClient, signal: AbortSignal): Promise<boolean> {
  const status = await tryList(client, signal);
  // Whoever may install need not be allowed to list: being refused is an answer.
  return status === 200 || status === 403;
}

/** The HTTP status of a list of ExternalWorkloads, in the version that Tether reads. */
async function tryList(client: KubeClient, signal: AbortSignal): Promise<number> {
  const path = `/apis/workload.linkerd.io/${NEEDED_VERSION}/externalworkloads`;
  try {
    await client.get(path, { what: 'list externalworkloads', signal, query: { limit: '1' } });
    return 200;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.status;
  }
}
