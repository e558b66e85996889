import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../process/free-port.ts';
import { spawnTied, type ChildExit, type TiedChild } from '../process/tied-child.ts';

// Node's own modules only: this is on the start path of `tether up`.

/** How to start a private Redis; everything has a default. */
export interface PrivateRedisOptions {
  /** Where an append-only file goes. Needed with `appendOnly`; without it nothing is written. */
  readonly dir?: string;
  /** Keep the data over a restart (fsync every second). Default false. */
  readonly appendOnly?: boolean;
  /** Default: any free port. */
  readonly port?: number;
  /** Default: a random one. Give it, with `port`, to start again under the same URL. */
  readonly password?: string;
  /** More options as on the command line: `['--maxmemory', '64mb']`. */
  readonly extraArgs?: readonly string[];
}

/** A Redis of our own, on the loopback, that ends with this process. */
export interface PrivateRedis {
  /** With the password: `redis://:PASSWORD@127.0.0.1:PORT`. */
  readonly url: string;
  /** The same server by its socket, `unix://:PASSWORD@/PATH`: half the CPU of a round trip by TCP. */
  readonly socketUrl: string;
  readonly port: number;
  readonly password: string;
  readonly pid: number;
  /** Ends it in order (SIGTERM); resolves once it is gone. */
  stop(): Promise<void>;
  /** Ends it as a crash would (SIGKILL); resolves once it is gone. */
  kill(): Promise<void>;
}

/** No Redis could be started here; the message says what to do. */
export class PrivateRedisError extends Error {
  override readonly name = 'PrivateRedisError';
}

const PROGRAMS = ['redis-server', 'valkey-server'];
const START_TIMEOUT_MS = 10_000;
const POLL_MS = 4;
const ANSWER_TIMEOUT_MS = 250;
const PORT_TRIES = 5;
/** What a shell ends with. */
const COMMAND_NOT_FOUND = 127;
const NOT_INSTALLED =
  'no Redis found: neither redis-server nor valkey-server is on the PATH. Install one ' +
  '(Debian: apt-get install redis-server; macOS: brew install redis), or set TETHER_REDIS_URL ' +
  'to a Redis >= 6.2 or Valkey that runs already';

/**
 * Starts a Redis or Valkey from the PATH on 127.0.0.1 with a password, without persistence unless
 * asked for, and with eviction off (the queue must never lose keys). Takes some 20 ms.
 *
 * @throws {PrivateRedisError} when no server program is on the PATH, or it does not start.
 */
export async function startPrivateRedis(options: PrivateRedisOptions = {}): Promise<PrivateRedis> {
  if (options.appendOnly === true && options.dir === undefined) {
    throw new PrivateRedisError('a private Redis with appendOnly needs a dir for its file');
  }
  const password = options.password ?? randomBytes(24).toString('hex');
  let failure: string | undefined;
  for (const program of PROGRAMS) {
    const started = await startProgram(program, password, options);
    if (started.kind === 'runs') return started.server;
    if (started.kind === 'failed') failure ??= `${program} did not start: ${started.reason}`;
  }
  throw new PrivateRedisError(failure ?? NOT_INSTALLED);
}

type Started =
  | { readonly kind: 'runs'; readonly server: PrivateRedis }
  | { readonly kind: 'not found' }
  | { readonly kind: 'failed'; readonly reason: string };

async function startProgram(
  program: string,
  password: string,
  options: PrivateRedisOptions,
): Promise<Started> {
  // Another process may take a free port before Redis does; one that the caller named is final.
  const tries = options.port === undefined ? PORT_TRIES : 1;
  let started: Started = { kind: 'not found' };
  for (let attempt = 0; attempt < tries; attempt++) {
    const port = options.port ?? (await freePort());
    started = await startOn(program, port, password, options);
    if (started.kind !== 'failed') return started;
  }
  return started;
}

async function startOn(
  program: string,
  port: number,
  password: string,
  options: PrivateRedisOptions,
): Promise<Started> {
  const socket = join(tmpdir(), `tether-redis-${process.pid}-${port}.sock`);
  const child = spawnTied(program, ['-', ...(options.extraArgs ?? [])], {
    // By standard input: a command line would show the password to every user of the machine.
    input: serverConfig(port, socket, password, options),
    stdout: 'pipe',
    stderr: 'pipe',
    keepsParentAlive: false,
  });
  const lastOutput = collectTail(child);
  const end = await untilAnswers(child, port, password);
  if (end === 'answers') {
    const server = {
      url: `redis://:${password}@127.0.0.1:${port}`,
      socketUrl: `unix://:${password}@${socket}`,
      port,
      password,
      pid: child.pid,
      stop: async () => void (await child.stop()),
      kill: async () => void (await child.stop(0)),
    };
    return { kind: 'runs', server };
  }
  await child.stop(0);
  if (end !== 'silent' && end.code === COMMAND_NOT_FOUND) return { kind: 'not found' };
  const reason =
    end === 'silent'
      ? `no answer on port ${port} within ${START_TIMEOUT_MS / 1000} s`
      : `it ended with ${end.signal ?? end.code}`;
  return { kind: 'failed', reason: `${reason}. ${lastOutput().trim()}`.trim() };
}

function serverConfig(
  port: number,
  socket: string,
  password: string,
  options: PrivateRedisOptions,
): string {
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `unixsocket ${socket}`,
    'unixsocketperm 700',
    `requirepass ${password}`,
    'daemonize no',
    'save ""',
    'maxmemory-policy noeviction',
    'loglevel warning',
    `appendonly ${options.appendOnly === true ? 'yes' : 'no'}`,
    'appendfsync everysec',
    // Else it would load the dump that lies where somebody happens to be, and write one for a replica.
    `dir "${options.dir ?? tmpdir()}"`,
    `dbfilename ${basename(socket, '.sock')}.rdb`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Waits for a PONG, for the end of the process, or for the deadline. */
async function untilAnswers(
  child: TiedChild,
  port: number,
  password: string,
): Promise<'answers' | 'silent' | ChildExit> {
  let end: ChildExit | undefined;
  void child.exited.then((exit) => (end = exit));
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (await answers(port, password)) return 'answers';
    if (end !== undefined) return end;
    await delay(POLL_MS);
  }
  return 'silent';
}

/** The password proves that the answer comes from our server and not from another one. */
function answers(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    let reply = '';
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
    socket.on('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      reply += chunk.toString('latin1');
      // Two lines are the whole answer; `-LOADING` while an append-only file is read.
      if (reply.split('\r\n').length > 2) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(reply.startsWith('+OK\r\n+PONG')));
  });
}

function collectTail(child: TiedChild): () => string {
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (tail = (tail + chunk.toString()).slice(-2000)));
  }
  return () => tail;
}
