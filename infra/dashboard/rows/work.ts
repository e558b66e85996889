import { ours, ourQuantile, quantile, rate, series, sumRate } from '../expressions.ts';
import { graph, type Row } from '../panel.ts';

/** What waits, and for how long. */
export const queue: Row = {
  title: 'Queue',
  width: 8,
  height: 7,
  panels: [
    graph(
      ['Keys that wait', 'In the whole queue: every watcher and worker shows the same.'],
      'short',
      {
        '{{name}}': `max by (name) (${ours(series('workqueue_depth'))})`,
      },
    ),
    graph(['Oldest key', 'Grows steadily: nobody takes keys. Hovers: too few workers.'], 's', {
      '{{name}}': `max by (name) (${series('tether_queue_oldest_seconds')})`,
    }),
    graph(
      ['Keys added', 'What watchers put into the queue; several adds of a key may become one run.'],
      'ops',
      { '{{name}}': `sum by (name) (${ours(rate('workqueue_adds_total'))})` },
    ),
    graph(['Wait in the queue', 'From when a key could have run until its run began.'], 's', {
      '{{name}} p50': ourQuantile(0.5, 'workqueue_queue_duration_seconds'),
      '{{name}} p99': ourQuantile(0.99, 'workqueue_queue_duration_seconds'),
    }),
    graph(
      [
        'Runs under way',
        'Age of the oldest run of each process: one that grows for minutes hangs.',
      ],
      's',
      {
        '{{instance}} {{name}}': `max by (instance, name) (${ours(series('workqueue_longest_running_processor_seconds'))})`,
      },
    ),
    graph(['Retries', 'Runs that failed, so that their key was put back.'], 'ops', {
      '{{name}}': `sum by (name) (${ours(rate('workqueue_retries_total'))})`,
    }),
  ],
};

/** What the runs come to. */
export const reconciles: Row = {
  title: 'Reconciles',
  width: 8,
  height: 7,
  panels: [
    graph(
      [
        'Runs by outcome',
        'retry: failed, or its lock was held elsewhere. terminal: no retry helps.',
      ],
      'ops',
      { '{{outcome}}': sumRate('outcome', 'tether_reconciles_total') },
      { stacked: true },
    ),
    graph(
      ['Change to slice', 'From when a watcher saw a change to the last write that it led to.'],
      's',
      {
        p50: quantile(0.5, 'tether_event_to_write_seconds'),
        p90: quantile(0.9, 'tether_event_to_write_seconds'),
        p99: quantile(0.99, 'tether_event_to_write_seconds'),
      },
    ),
    graph(['Time of a run', 'From taking a key to its end.'], 's', {
      '{{name}} p50': ourQuantile(0.5, 'workqueue_work_duration_seconds'),
      '{{name}} p99': ourQuantile(0.99, 'workqueue_work_duration_seconds'),
    }),
    graph(
      ['Writes of EndpointSlices', 'By what was done and what came of it.'],
      'ops',
      { '{{verb}} {{result}}': sumRate('verb, result', 'tether_slice_writes_total') },
      { stacked: true },
    ),
    graph(
      [
        'Left-out workloads',
        'By the last run of each Service in each process: compare, do not add up over processes.',
      ],
      'short',
      { '{{reason}}': `max by (reason) (${series('tether_left_out_workloads')})` },
    ),
    graph(
      [
        'Trouble',
        'Stuck keys; slices in namespaces that nobody serves any more; runs that lost their lock.',
      ],
      'short',
      {
        'stuck keys': `max(${series('tether_stuck_keys')})`,
        'slices left behind': `max(${series('tether_left_behind_slices')})`,
        'lock losses a second': `sum(${rate('tether_lock_losses_total')})`,
      },
    ),
    graph(
      [
        'Endpoints',
        'By the last run of each Service in that process: with several workers each knows some.',
      ],
      'short',
      { '{{instance}} {{state}}': `sum by (instance, state) (${series('tether_endpoints')})` },
    ),
    graph(['Services and slices', 'Counted as the endpoints are.'], 'short', {
      '{{instance}} Services': `sum by (instance) (${series('tether_services')})`,
      '{{instance}} EndpointSlices': `sum by (instance) (${series('tether_slices')})`,
    }),
    graph(
      [
        'Kubernetes Events',
        'failed: the right is missing. dropped: more than the API server took.',
      ],
      'ops',
      { '{{result}}': sumRate('result', 'tether_events_total') },
    ),
  ],
};
