import { join } from 'node:path';
import type { AgentApi } from './api.ts';
import { forkApi, type Forked } from './rpc.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

/** The agent as its parent has it. */
export type Agent = AgentApi & Forked;

/** Starts an agent for one API server. `progress` takes what it tells meanwhile. */
export async function startAgent(
  kubeconfig: string,
  connections: number,
  progress: (line: string) => void,
): Promise<Agent> {
  const methods = {
    open: true,
    load: true,
    observe: true,
    untilRight: true,
    churn: true,
    writeDirectly: true,
    listBytes: true,
    read: true,
  } as const;
  const agent = forkApi<AgentApi>(MAIN, methods, progress);
  await agent.open(kubeconfig, connections);
  return agent;
}
