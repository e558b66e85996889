import { request, type ClientRequest } from 'node:http';
import type { ApiObject } from '../../core/api-objects.ts';
import { eventually } from '../support/eventually.ts';
import type { Change, Kind } from './world.ts';

/**
 * Every version of every object, in the one order that the store has for all of them. A watch of the
 * API server would have gaps where that is killed; its etcd is left alone. The API server has to
 * store JSON (`--storage-media-type=application/json`).
 */
export interface EtcdLog {
  /** The latest version seen. */
  readonly revision: number;
  /** Waits until these versions, by key, are the latest seen of this kind. */
  caughtUp(kind: Kind, versions: ReadonlyMap<string, string>): Promise<void>;
  /** Changes since the last call. */
  take(): Change[];
  /** What was taken last, and all since. */
  readonly recent: readonly Change[];
  /** Forgets all history before the latest version, for everybody. */
  compact(): Promise<void>;
  close(): Promise<void>;
}

/** Begins at the present version. `onFailure` is told when the stream breaks. */
export async function openEtcdLog(
  url: string,
  cluster: string,
  onFailure: (error: Error) => void,
): Promise<EtcdLog> {
  const prefix = `/${cluster}/`;
  let changes: Change[] = [];
  let taken: Change[] = [];
  const latest: Record<Kind, Map<string, string>> = {
    service: new Map(),
    workload: new Map(),
    slice: new Map(),
  };
  let revision = 0;
  let closed = false;
  const created = Promise.withResolvers<void>();
  const take = (line: string): void => {
    const { result, error } = JSON.parse(line) as Line;
    if (result === undefined) throw new Error(`etcd ended the watch: ${JSON.stringify(error)}`);
    revision = Math.max(revision, Number(result.header.revision));
    for (const event of result.events ?? []) {
      const change = toChange(prefix, event);
      if (change === null) continue;
      changes.push(change);
      const key = `${change.namespace}/${change.name}`;
      if (change.object === null) latest[change.kind].delete(key);
      else latest[change.kind].set(key, event.kv.mod_revision);
    }
    if (result.created === true) created.resolve();
  };
  const fail = (error: Error): void => {
    created.reject(error);
    if (!closed) onFailure(error);
  };
  // The range of a prefix ends before its last character's successor: "0" comes after "/".
  const range = { key: encode(prefix), range_end: encode(`/${cluster}0`) };
  const watch = post(`${url}/v3/watch`, { create_request: range });
  watch.on('error', fail);
  watch.on('response', (response) => {
    let rest = '';
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      try {
        lines.forEach(take);
      } catch (error) {
        fail(error as Error);
      }
    });
    response.on('close', () => fail(new Error('etcd closed the watch')));
  });
  await created.promise;
  return {
    get revision() {
      return revision;
    },
    caughtUp: (kind, versions) =>
      eventually(() => {
        const late = [...versions].filter(([key, version]) => latest[kind].get(key) !== version);
        const more = latest[kind].size - versions.size;
        if (late.length > 0 || more !== 0) {
          throw new Error(`the log is behind: ${more} too many, and not yet ${late.join(' ')}`);
        }
      }),
    take: () => {
      taken = changes;
      changes = [];
      return taken;
    },
    get recent() {
      return [...taken, ...changes];
    },
    compact: () => compact(url, revision),
    close: async () => {
      closed = true;
      const gone = new Promise((resolve) => watch.once('close', resolve));
      watch.destroy();
      await gone;
    },
  };
}

interface Event {
  /** Absent: PUT. */
  readonly type?: 'DELETE';
  readonly kv: { readonly key: string; readonly value?: string; readonly mod_revision: string };
}

interface Line {
  readonly result?: {
    readonly header: { readonly revision: string };
    readonly created?: boolean;
    readonly events?: readonly Event[];
  };
  readonly error?: unknown;
}

/** As etcd's JSON gateway takes keys and values. */
function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

const KINDS: readonly (readonly [string, Kind])[] = [
  ['services/specs/', 'service'],
  ['workload.linkerd.io/externalworkloads/', 'workload'],
  ['endpointslices/', 'slice'],
];

/** Null for what no slice depends on. */
function toChange(prefix: string, { type, kv }: Event): Change | null {
  const path = Buffer.from(kv.key, 'base64').toString().slice(prefix.length);
  const [folder, kind] = KINDS.find(([start]) => path.startsWith(start)) ?? [];
  if (folder === undefined || kind === undefined) return null;
  const [namespace = '', name = ''] = path.slice(folder.length).split('/');
  const revision = Number(kv.mod_revision);
  if (type === 'DELETE') return { revision, kind, namespace, name, object: null };
  const stored = JSON.parse(Buffer.from(kv.value ?? '', 'base64').toString()) as ApiObject;
  // The store does not say an object's version within it.
  const metadata = { ...stored.metadata, resourceVersion: kv.mod_revision };
  return { revision, kind, namespace, name, object: { ...stored, metadata } };
}

async function compact(url: string, revision: number): Promise<void> {
  const answer = post(`${url}/v3/kv/compaction`, { revision: String(revision) });
  await new Promise<void>((resolve, reject) => {
    answer.on('error', reject);
    answer.on('response', (response) => {
      response.resume();
      response.on('end', resolve);
    });
  });
}

function post(url: string, body: object): ClientRequest {
  const outgoing = request(url, { method: 'POST', agent: false });
  outgoing.end(JSON.stringify(body));
  return outgoing;
}
