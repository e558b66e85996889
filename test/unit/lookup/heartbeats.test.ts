import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { expect, test } from '@jest/globals';
import { eventually } from '../../support/eventually.ts';
import { HEARTBEAT } from '../../../lookup/frames.ts';
import { Streams } from '../../../lookup/stream.ts';
import type { Target } from '../../../lookup/target.ts';

/** Something that is never known, so that heartbeats are all that is ever written of it. */
const nothing: Target = {
  load: () => undefined,
  now: () => ({
    kind: 'unknown',
    refusal: { code: 'NotSynced', error: 'not yet' },
    status: null,
  }),
  watch: () => () => undefined,
  changedAt: () => null,
};

/** Subscribers of one process, with readers that keep up. */
function subscribers() {
  const streams = new Streams({
    now: () => 0,
    monotonicMs: () => 0,
    delivered: () => undefined,
    slowReader: () => undefined,
  });
  const topic = streams.topic('web', () => nothing);
  let beats = 0;
  const open = (): Duplex => {
    const reader = new Duplex({
      read: () => undefined,
      write: (bytes: Buffer, _encoding, done) => {
        if (HEARTBEAT.equals(bytes)) beats += 1;
        done();
      },
    });
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    response.assignSocket(reader as Socket);
    streams.open(topic, response, '');
    return reader;
  };
  /** How many hear something at each second of a round. */
  const round = (): number[] =>
    Array.from({ length: 15 }, () => {
      beats = 0;
      streams.tick();
      return beats;
    });
  return { streams, open, round };
}

test('heartbeats stay spread over the seconds, however many come back', async () => {
  const { streams, open, round } = subscribers();
  const readers = Array.from({ length: 150 }, open);
  expect(round()).toEqual(Array.from({ length: 15 }, () => 10));
  // As after a restart of a proxy in between, one by one: who was there longest goes, and comes back.
  for (const reader of readers.splice(0)) {
    const there = streams.subscribers;
    reader.destroy();
    await eventually(() => expect(streams.subscribers).toBe(there - 1), { intervalMs: 1 });
    readers.push(open());
  }
  expect(round()).toEqual(Array.from({ length: 15 }, () => 10));
  for (const reader of readers) reader.destroy();
  await eventually(() => expect(streams.subscribers).toBe(0));
  streams.close();
});
