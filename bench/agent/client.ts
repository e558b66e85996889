import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { AgentApi, AgentMessage, AgentRequest } from './api.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

/** The agent as its parent has it. */
export interface Agent extends AgentApi {
  readonly pid: number;
  /** Ends the process; resolves once it is gone. */
  stop(): Promise<void>;
}

/** Starts an agent for one API server. `progress` takes what it tells meanwhile. */
export async function startAgent(
  kubeconfig: string,
  connections: number,
  progress: (line: string) => void,
): Promise<Agent> {
  const child = fork(MAIN, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  child.on('message', (message) => take(message as AgentMessage, waiting, progress));
  void exited.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('the agent ended by itself'));
  });
  let calls = 0;
  const call = (name: keyof AgentApi, args: readonly unknown[]): Promise<unknown> => {
    const answer = Promise.withResolvers<unknown>();
    const request: AgentRequest = { id: (calls += 1), call: name, args };
    waiting.set(request.id, answer);
    child.send(request, (error) => error !== null && answer.reject(error));
    return answer.promise;
  };
  const agent: Agent = {
    pid: child.pid ?? 0,
    ...remote(call),
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
  await agent.open(kubeconfig, connections);
  return agent;
}

/** Each method sends its name and arguments; the types are those of the interface on both sides. */
function remote(call: (name: keyof AgentApi, args: readonly unknown[]) => Promise<unknown>) {
  const method =
    <K extends keyof AgentApi>(name: K) =>
    (...args: Parameters<AgentApi[K]>): ReturnType<AgentApi[K]> =>
      call(name, args) as ReturnType<AgentApi[K]>;
  return {
    open: method('open'),
    load: method('load'),
    observe: method('observe'),
    untilRight: method('untilRight'),
    churn: method('churn'),
    writeDirectly: method('writeDirectly'),
    listBytes: method('listBytes'),
    read: method('read'),
  };
}

function take(
  message: AgentMessage,
  waiting: Map<number, PromiseWithResolvers<unknown>>,
  progress: (line: string) => void,
): void {
  if ('progress' in message) return progress(message.progress);
  const answer = waiting.get(message.id);
  waiting.delete(message.id);
  if ('error' in message) answer?.reject(new Error(message.error));
  else answer?.resolve(message.result);
}
