import type { Logger } from '../core/logger.ts';
import type { Config } from '../platform/config.ts';
import type { RedisClient } from '../platform/redis/client.ts';
import type { Io } from './command.ts';
import { collectStatus, readCluster, type Filters, type StatusReport } from './status-report.ts';
import { openScreen, type Terminal } from './status-screen.ts';
import { openTerminal } from './status-terminal.ts';
import { askSeldom, watchStatus } from './status-watch.ts';

export interface LiveStatus {
  readonly config: Config;
  readonly redis: RedisClient;
  readonly log: Logger;
  /** JSON lines, on a terminal too. */
  readonly json: boolean;
  readonly describe: (report: StatusReport) => string;
}

/** Reports every second, until it is stopped: on a page of its own on a terminal, else one after the other. */
export async function watchReports(live: LiveStatus, io: Io): Promise<number> {
  const { config, redis, log, json, describe } = live;
  const quit = new AbortController();
  const signal = AbortSignal.any([io.signal, quit.signal]);
  const ask = (filters: Filters) => readCluster(config, filters, signal);
  const seldom = askSeldom(ask, () => performance.now());
  const collect = () => collectStatus(config, redis, log, seldom);
  const terminal = json ? null : openTerminal();
  if (terminal === null) {
    const text = json ? JSON.stringify : (report: StatusReport) => block(describe(report));
    const onTrouble = (reason: string): void => io.err(`tether: ${reason}`);
    await watchStatus({ collect, show: (report) => io.out(text(report)), onTrouble, signal });
  } else {
    const page = openPage(terminal, describe, () => quit.abort());
    await watchStatus({ collect, ...page, signal }).finally(page.close);
  }
  return 0;
}

/** A report for people among others. */
function block(text: string): string {
  return `${new Date().toISOString()}\n\n${text}\n`;
}

interface Page {
  show(report: StatusReport): void;
  onTrouble(reason: string): void;
  close(): void;
}

/** The latest report, and under which circumstances it is that. */
function openPage(
  terminal: Terminal,
  describe: (report: StatusReport) => string,
  onQuit: () => void,
): Page {
  const screen = openScreen(terminal, onQuit);
  // A second signal ends the process at once.
  process.once('exit', screen.close);
  // Before anybody prints what happened, which would go with the page.
  process.prependListener('uncaughtException', screen.close);
  let body = '';
  const draw = (state: string): void => screen.show(`${state}\n\n${body}`);
  return {
    show: (report) => {
      body = describe(report);
      draw(`tether status, ${clock()}; q ends it`);
    },
    onTrouble: (reason) => draw(`NOT UP TO DATE, ${clock()}: ${reason}`),
    close: () => {
      screen.close();
      process.off('exit', screen.close);
      process.off('uncaughtException', screen.close);
    },
  };
}

/** The time of day where this runs. */
function clock(): string {
  return new Date().toTimeString().slice(0, 8);
}
