import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { eventually } from '../support/eventually.ts';
import { execute, must, type Ran } from './execute.ts';

export const ROOT = join(import.meta.dirname, '../..');

/** Under which the tests build Tether, apart from what a user has built. */
export const IMAGE = 'tether-under-test';

/** One container of a project. */
export interface Container {
  readonly id: string;
  /** `running`, `exited`, … */
  readonly state: string;
}

/** A project of docker compose: a name, one of the compose files, and variables for it. */
export class Project {
  readonly name = `tether-test-${randomBytes(4).toString('hex')}`;
  readonly #file: string;
  readonly #env: Readonly<Record<string, string>>;

  constructor(file: string, env: Readonly<Record<string, string>> = {}) {
    this.#file = file;
    this.#env = { TETHER_IMAGE: IMAGE, ...env };
  }

  /** Runs a command of compose to its end, whatever comes of it. */
  async try(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const [program = '', ...words] = [...(await composeCommand()), ...this.#flags(), ...args];
    return execute(program, words, { cwd: ROOT, env: { ...this.#env, ...env } });
  }

  /** Runs a command of compose that is to succeed; gives its standard output. */
  async run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const [program = '', ...words] = [...(await composeCommand()), ...this.#flags(), ...args];
    return must(program, words, { cwd: ROOT, env: { ...this.#env, ...env } });
  }

  /**
   * Brings it up in the background.
   *
   * @throws {Error} with what compose and the containers said, when that fails.
   */
  async up(flags: readonly string[] = []): Promise<void> {
    const { code, stderr } = await this.try(['up', '--detach', ...flags]);
    if (code === 0) return;
    const { stdout } = await this.try(['logs', '--no-color', '--tail', '10']);
    throw new Error(`${this.#file}: up ended with ${code}:\n${stderr}\n${stdout}`);
  }

  /** The containers of a service, those that ended included. */
  async containers(service: string): Promise<readonly Container[]> {
    const filters = [this.#label(), `label=com.docker.compose.service=${service}`];
    // Those of `run` are not among them.
    filters.push('label=com.docker.compose.oneoff=False');
    const lines = await list('ps', ['-a', '--format', '{{.ID}} {{.State}}'], filters);
    return lines.map((line) => {
      const [id = '', state = ''] = line.split(' ');
      return { id, state };
    });
  }

  /** Ids of those that run. */
  async running(service: string): Promise<readonly string[]> {
    const containers = await this.containers(service);
    return containers.filter(({ state }) => state === 'running').map(({ id }) => id);
  }

  /** `127.0.0.1:PORT` on this machine, for a port of a service. */
  async address(service: string, port: number): Promise<string> {
    return (await this.run(['port', service, String(port)])).trim();
  }

  /** Takes all of it down, with its data. */
  async remove(): Promise<void> {
    await this.run(['down', '--volumes', '--remove-orphans', '--timeout', '20']);
  }

  /** Whatever there is of it: containers, networks and volumes, by kind. */
  async left(): Promise<readonly string[]> {
    const found = [
      (await list('ps', ['-a', '--format', '{{.Names}}'], [this.#label()])).map(
        (name) => `container ${name}`,
      ),
      (await list('network', ['ls', '--format', '{{.Name}}'], [this.#label()])).map(
        (name) => `network ${name}`,
      ),
      (await list('volume', ['ls', '--format', '{{.Name}}'], [this.#label()])).map(
        (name) => `volume ${name}`,
      ),
    ];
    return found.flat();
  }

  #flags(): string[] {
    return ['--project-name', this.name, '--file', this.#file];
  }

  #label(): string {
    return `label=com.docker.compose.project=${this.name}`;
  }
}

/** What `docker inspect` says of a container or an image, by a template. */
export async function inspect(id: string, template: string): Promise<string> {
  return (await must('docker', ['inspect', '--format', template, id])).trim();
}

/** Waits until Docker's own health check finds a container well. */
export function untilHealthy(id: string): Promise<void> {
  return eventually(
    async () => {
      const health = await inspect(id, '{{.State.Health.Status}} {{json .State.Health.Log}}');
      if (!health.startsWith('healthy')) throw new Error(`container ${id}: ${health}`);
    },
    { timeoutMs: 90_000, intervalMs: 500 },
  );
}

async function list(
  kind: string,
  args: readonly string[],
  filters: readonly string[],
): Promise<string[]> {
  const flags = filters.flatMap((filter) => ['--filter', filter]);
  const output = await must('docker', [kind, ...args, ...flags]);
  return output.split('\n').filter((line) => line !== '');
}

let command: Promise<readonly string[]> | undefined;

/** Compose v2 where there is one, else docker-compose. */
function composeCommand(): Promise<readonly string[]> {
  command ??= execute('docker', ['compose', 'version']).then(({ code }) =>
    code === 0 ? ['docker', 'compose'] : ['docker-compose'],
  );
  return command;
}
