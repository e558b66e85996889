import { readFileSync } from 'node:fs';
import { parseAllDocuments } from 'yaml';
import { packageFile } from '../../platform/package-file.ts';

/** What of an object of infra/rbac/remote.yaml may be called otherwise. */
interface RbacObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly subjects?: readonly { readonly kind: string }[];
}

/** One object, and where it goes. */
export interface RbacStep {
  readonly kind: 'namespace' | 'serviceaccount' | 'clusterrole' | 'clusterrolebinding';
  /** What messages call it. */
  readonly name: string;
  readonly path: string;
  readonly object: unknown;
}

/** The namespace, the account, its role and the binding, in the order in which they are needed. */
interface Account {
  readonly namespace: string;
  readonly name: string;
}

const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/**
 * What infra/rbac/remote.yaml holds, for the given account. An account of another name or namespace
 * gets a binding of its own: one that others use would lose its rights otherwise.
 *
 * @throws Error when the file is missing or is not what it was: the package is broken.
 */
export function remoteRbac(account: Account): RbacStep[] {
  const text = readFileSync(packageFile('infra/rbac/remote.yaml'), 'utf8');
  return parseAllDocuments(text).map((document) => stepOf(document.toJS() as RbacObject, account));
}

function stepOf(object: RbacObject, account: Account): RbacStep {
  const { namespace, name } = account;
  switch (object.kind) {
    case 'Namespace':
      return step('namespace', namespace, `/api/v1/namespaces/${namespace}`, {
        ...object,
        metadata: { ...object.metadata, name: namespace },
      });
    case 'ServiceAccount': {
      const metadata = { ...object.metadata, name, namespace };
      return step('serviceaccount', `${namespace}/${name}`, accountPath(account), {
        ...object,
        metadata,
      });
    }
    case 'ClusterRole': {
      const role = object.metadata.name;
      return step('clusterrole', role, `${RBAC}/clusterroles/${role}`, object);
    }
    case 'ClusterRoleBinding': {
      const usual = namespace === 'tether' && name === object.metadata.name;
      const binding = usual ? name : `${object.metadata.name}:${namespace}:${name}`;
      return step('clusterrolebinding', binding, `${RBAC}/clusterrolebindings/${binding}`, {
        ...object,
        metadata: { ...object.metadata, name: binding },
        subjects: object.subjects?.map((subject) => ({ ...subject, name, namespace })),
      });
    }
    default:
      throw new Error(`infra/rbac/remote.yaml holds a ${object.kind}, which nobody expects there`);
  }
}

/** Path of a service account. */
export function accountPath({ namespace, name }: Account): string {
  return `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`;
}

function step(kind: RbacStep['kind'], name: string, path: string, object: unknown): RbacStep {
  return { kind, name: `${kind} ${name}`, path, object };
}
