import { startConstantServer } from '../../linked/constant.ts';
import { CHANGED, untilAnswers } from '../../linked/linked-run.ts';
import type { LinkedPart } from '../../linked/part.ts';
import type { LoadOutcome } from '../../linked/reader-api.ts';
import type { Figures } from '../../report/section.ts';
import { atLeast, atMost } from '../bars.ts';

const RATE = { id: 'rate', label: 'answers a second', digits: 0 };
const P99 = { id: 'p99', label: 'p99, ms', digits: 1 };
const REFUSED = { id: 'refused', label: 'answers that were not 200', digits: 0 };

/** One look-up after another on each of some connections, beside a bare server of Node. */
export const lookUps: LinkedPart = {
  title: ({ load }) => `Look-ups, ${load.connections} connections`,
  intro: ({ load }) =>
    `The endpoints of one Service are asked for over ${load.connections} connections for ` +
    `${load.seconds} s, the next request as soon as an answer is there, from a process of its own. The ` +
    'ceiling is a server of `node:http` that answers so many constant bytes and does nothing else, asked ' +
    'by the same process in the same way.',
  rows: [
    RATE,
    { id: 'p50', label: 'p50, ms', digits: 1 },
    P99,
    REFUSED,
    { id: 'bytes', label: 'bytes of an answer', digits: 0 },
    { id: 'cpu', label: 'CPU seconds of the server', digits: 1 },
  ],
  columns: ['Tether', 'bare node:http'],
  measure: async (run) => {
    await untilAnswers(run, CHANGED);
    const { stage, reader, sizes } = run;
    const timed = async (
      target: { port: number; path: string },
      name: string,
    ): Promise<Figures> => {
      const mark = stage.usage.mark();
      const outcome = await reader.load({ ...target, ...sizes.load });
      return figuresOf(outcome, stage.usage.cpuSince(mark).get(name));
    };
    const ours = await timed(run.target(CHANGED), 'lookup');
    const server = startConstantServer();
    stage.usage.track('constant', server.pid);
    try {
      const port = await server.serve(ours['bytes'] ?? 0);
      return [ours, await timed({ port, path: '/' }, 'constant')];
    } finally {
      await server.stop();
    }
  },
  bars: ([ours]) => [
    ...atLeast('Look-ups: answers a second', ours, RATE, 5_000),
    ...atMost('Look-ups: p99, ms', ours, P99, 20),
    ...atMost('Look-ups: answers that were not 200', ours, REFUSED, 0),
  ],
};

function figuresOf(outcome: LoadOutcome, cpu: number | undefined): Figures {
  const { perSecond, p50, p99, refused, bodyBytes } = outcome;
  return { rate: perSecond, p50, p99, refused, bytes: bodyBytes, cpu };
}
