import { quantile, series, sumRate } from '../expressions.ts';
import { stat, type Row, type Threshold } from '../panel.ts';

const anyIsBad: readonly Threshold[] = [
  { from: 0, colour: 'green' },
  { from: 1, colour: 'red' },
];

/** Whether somebody is needed, at one glance. */
export const overview: Row = {
  title: 'Overview',
  width: 3,
  height: 4,
  panels: [
    stat(
      ['Processes', 'Processes of Tether that are scraped.'],
      'short',
      `count(${series('tether_redis_up')})`,
    ),
    stat(
      ['Redis', 'Whether every process gets an answer from Redis.'],
      'short',
      `min(${series('tether_redis_up')})`,
      {
        words: { 0: 'down', 1: 'up' },
        thresholds: [
          { from: 0, colour: 'red' },
          { from: 1, colour: 'green' },
        ],
      },
    ),
    stat(
      ['Eviction', 'Whether Redis keeps every key (noeviction), or may throw some away.'],
      'short',
      `min(${series('tether_redis_noeviction')})`,
      {
        words: { 0: 'may evict', 1: 'none' },
        thresholds: [
          { from: 0, colour: 'red' },
          { from: 1, colour: 'green' },
        ],
      },
    ),
    stat(
      ['Stuck keys', 'Services that failed 15 times in a row or more. tether status names them.'],
      'short',
      `max(${series('tether_stuck_keys')})`,
      { thresholds: anyIsBad },
    ),
    stat(
      ['Oldest key', 'How long the key has waited that has waited longest.'],
      's',
      `max(${series('tether_queue_oldest_seconds')})`,
      {
        thresholds: [
          { from: 0, colour: 'green' },
          { from: 10, colour: 'orange' },
          { from: 60, colour: 'red' },
        ],
      },
    ),
    stat(
      [
        'Change to slice, p99',
        'From when a watcher saw a change to the last write that it led to.',
      ],
      's',
      quantile(0.99, 'tether_event_to_write_seconds'),
      {
        thresholds: [
          { from: 0, colour: 'green' },
          { from: 1, colour: 'orange' },
          { from: 5, colour: 'red' },
        ],
      },
    ),
    stat(
      ['Writes that fail', 'Share of the writes of EndpointSlices that did not succeed.'],
      'percentunit',
      `sum(${sumRate('result', 'tether_slice_writes_total', 'result=~"refused|unreachable"')}) / sum(${sumRate('result', 'tether_slice_writes_total')}) or vector(0)`,
      {
        thresholds: [
          { from: 0, colour: 'green' },
          { from: 0.01, colour: 'orange' },
          { from: 0.1, colour: 'red' },
        ],
      },
    ),
    stat(
      ['Clusters not ready', 'Linked clusters that are in another state than Ready.'],
      'short',
      `count(max by (cluster) (${series('tether_cluster_state', 'state="Ready"')}) == 0) or vector(0)`,
      { thresholds: anyIsBad },
    ),
  ],
};
