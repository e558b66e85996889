import { fork } from 'node:child_process';
import { describeError } from '../../core/errors.ts';

/*
 * Calls to a process of the benchmark's own, forked from it. Each such process has an interface whose
 * methods take JSON and give a promise of JSON; both sides are typed by it.
 */

/** From the parent. */
interface Request {
  readonly id: number;
  readonly call: string;
  readonly args: readonly unknown[];
}

/** To the parent: an answer, or a line of progress. */
type Message =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly progress: string };

export interface Forked {
  readonly pid: number;
  /** Ends the process; resolves once it is gone. */
  stop(): Promise<void>;
}

/** The methods of an interface, for the side that calls; their names must be said. */
export type Methods<A> = Readonly<Record<keyof A & string, true>>;

/**
 * Starts `main` and gives its interface. `progress` takes what it tells meanwhile. A call fails when
 * the process ends before its answer.
 */
export function forkApi<A extends object>(
  main: string,
  methods: Methods<A>,
  progress: (line: string) => void,
): A & Forked {
  const child = fork(main, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  child.on('message', (message) => take(message as Message, waiting, progress));
  void exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`${main} ended by itself`));
  });
  let calls = 0;
  const call = (name: string, args: readonly unknown[]): Promise<unknown> => {
    const answer = Promise.withResolvers<unknown>();
    const request: Request = { id: (calls += 1), call: name, args };
    waiting.set(request.id, answer);
    child.send(request, (error) => error !== null && answer.reject(error));
    return answer.promise;
  };
  const forked: Forked = {
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
  const remote = Object.keys(methods).map((name) => [
    name,
    (...args: readonly unknown[]) => call(name, args),
  ]);
  return { ...(Object.fromEntries(remote) as A), ...forked };
}

function take(
  message: Message,
  waiting: Map<number, PromiseWithResolvers<unknown>>,
  progress: (line: string) => void,
): void {
  if ('progress' in message) return progress(message.progress);
  const answer = waiting.get(message.id);
  waiting.delete(message.id);
  if ('error' in message) answer?.reject(new Error(message.error));
  else answer?.resolve(message.result);
}

/** Answers the parent's calls; the process ends when its parent does, however that ends. */
export function serveApi(api: object): void {
  const methods = api as Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;
  const answer = async ({ id, call, args }: Request): Promise<void> => {
    try {
      tell({ id, result: (await methods[call]?.(...args)) ?? null });
    } catch (error) {
      tell({ id, error: describeError(error) });
    }
  };
  process.on('message', (request) => void answer(request as Request));
  process.on('disconnect', () => process.exit(0));
  // Ctrl-C in a terminal reaches every process of it: the parent decides when this one ends.
  process.on('SIGINT', () => undefined);
}

/** Sends a line of progress to the parent. */
export function tellProgress(progress: string): void {
  tell({ progress });
}

function tell(message: Message): void {
  process.send?.(message);
}
