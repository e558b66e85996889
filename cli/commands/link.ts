import { stringify } from 'yaml';
import { InvalidInputError } from '../../core/errors.ts';
import { probeCluster } from '../../functions/probe-cluster.ts';
import type { Config } from '../../platform/config.ts';
import { readClusterSecret, type ClusterContent } from '../../platform/kube/cluster-secret.ts';
import { loadKubeConfig, type KubeAccess } from '../../platform/kube/kubeconfig.ts';
import type { CommandInput, Io } from '../command.ts';
import { CommandError } from '../failures.ts';
import { clusterSecret, type ClusterSecretManifest } from '../link/cluster-secret.ts';
import { applySecret, inspectNamespace } from '../link/local-secret.ts';
import { linkOptions, type LinkOptions } from '../link/options.ts';
import { applyRbac, checkRights, requestToken } from '../link/remote-account.ts';
import { withClient } from '../roles/clients.ts';
import { clusterPolicy } from '../roles/cluster-policy.ts';

/** No credential: stands in for the token until there is one. */
const NO_TOKEN_YET = 'to-be-asked-for';
const HOUR_MS = 3_600_000;

/** What one run of the command knows. */
interface Linking {
  readonly config: Config;
  readonly options: LinkOptions;
  readonly remote: KubeAccess;
  readonly io: Io;
  /** Tells of a step: on stdout, unless that is for the YAML. */
  readonly tell: (line: string) => void;
}

/**
 * `link --name X --kubeconfig FILE`: makes an account with the least rights in another cluster, and
 * the cluster Secret that lets the served cluster look into it. Run again it replaces the token. What
 * workers would refuse of the Secret is refused here, before anything is written.
 */
export async function run(input: CommandInput, io: Io): Promise<number> {
  const { config } = input;
  const options = linkOptions(input);
  const remote = await loadKubeConfig(options.remote);
  const tell = options.print ? io.err : io.out;
  const linking: Linking = { config, options, remote, io, tell };
  await judge(linking, NO_TOKEN_YET);
  if (options.print) {
    io.out(stringify(await makeSecret(linking)).trimEnd());
    return 0;
  }
  const local = await loadKubeConfig(options.local);
  return withClient(config, local, async (client) => {
    const known = await inspectNamespace(client, options, io.signal);
    const secret = await makeSecret(linking);
    await applySecret(client, secret, options.force, io.signal);
    const { name, namespace } = secret.metadata;
    const did = known ? 'its credential was replaced' : 'created';
    tell(`secret ${namespace}/${name} on ${client.server}: ${did}`);
    return 0;
  });
}

/** The account in the linked cluster, a token of it, and the Secret that holds it, tried out. */
function makeSecret(linking: Linking): Promise<ClusterSecretManifest> {
  const { config, options, remote, io, tell } = linking;
  return withClient(config, remote, async (client) => {
    const { namespace, name } = options.account;
    if (!options.skipRbac) {
      await applyRbac(client, options, io.signal);
      tell(`serviceaccount ${namespace}/${name} on ${client.server}: there, and may look`);
    }
    const token = await requestToken(client, options, io.signal);
    tell(`the token is ${validity(options, token.expiresAt)}`);
    const { secret, content } = await judge(linking, token.token);
    await withClient(config, { ...remote, credentials: content.access.credentials }, (account) =>
      checkRights(account, io.signal),
    );
    tell('rights: all that discovery needs, tried with that token');
    if (options.server !== undefined) await tryAddress(linking, content);
    return secret;
  });
}

/** @throws CommandError in the words of the policy that workers apply. */
async function judge(
  { config, options, remote }: Linking,
  token: string,
): Promise<{ readonly secret: ClusterSecretManifest; readonly content: ClusterContent }> {
  const secret = clusterSecret(options, remote, token);
  try {
    return { secret, content: await readClusterSecret(secret, clusterPolicy(config)) };
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    const hint = error.field === 'server' ? '; --server puts another address into the Secret' : '';
    throw new CommandError(`no worker would take this: ${error.message}${hint}`);
  }
}

/** `valid until 2027-12-01T01:30:00Z, 8760 h as asked for`. */
function validity({ tokenHours }: LinkOptions, expiresAt: number): string {
  const until = `valid until ${new Date(expiresAt).toISOString().replace(/\.\d+Z$/, 'Z')}`;
  const granted = Math.round((expiresAt - Date.now()) / HOUR_MS);
  if (granted >= tokenHours) return `${until}, ${tokenHours} h as asked for`;
  return `${until}: the server granted ${granted} h of the ${tokenHours} h asked for; link again before`;
}

/** The address of --server is for the served cluster; where this command runs it may lead nowhere. */
async function tryAddress({ config, io, tell }: Linking, content: ClusterContent): Promise<void> {
  const probe = await withClient(config, content.access, (client) =>
    probeCluster(client, io.signal),
  );
  tell(
    probe.ok
      ? `${content.server}: answers`
      : `${content.server}: could not be tried from here: ${probe.reason}`,
  );
}
