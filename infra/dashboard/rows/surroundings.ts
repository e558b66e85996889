import { ours, rate, series, sumRate } from '../expressions.ts';
import { graph, type Row } from '../panel.ts';

/** What is asked of the API server, and how it answers. */
export const apiServer: Row = {
  title: 'API server',
  width: 8,
  height: 7,
  panels: [
    graph(
      ['Requests', 'Watches count once they end.'],
      'ops',
      { '{{verb}} {{resource}}': sumRate('verb, resource', 'tether_api_requests_total') },
      { stacked: true },
    ),
    graph(['Requests that failed', 'By HTTP status; 0: no answer. 409 is nobody’s fault.'], 'ops', {
      '{{code}} {{verb}} {{resource}}': sumRate(
        'code, verb, resource',
        'tether_api_requests_total',
        'code=~"0|[45].."',
      ),
    }),
    graph(['Time of a request, p99', 'Without watches.'], 's', {
      '{{verb}} {{resource}}': `histogram_quantile(0.99, ${sumRate('le, verb, resource', 'tether_api_request_seconds_bucket')})`,
    }),
  ],
};

/** Whether changes are seen. */
export const watches: Row = {
  title: 'Watches and the view',
  width: 6,
  height: 7,
  panels: [
    graph(
      [
        'Last word of the API server',
        'Of the watcher that heard of it longest ago. Bookmarks come each minute: a saw up to 75 s is well.',
      ],
      's',
      { '{{resource}}': `max by (resource) (${series('tether_watch_last_contact_seconds')})` },
    ),
    graph(['Watches begun anew', 'Some an hour are normal: API servers end watches.'], 'ops', {
      '{{resource}}': sumRate('resource', 'tether_watch_restarts_total'),
    }),
    graph(
      ['Changes that only a list found', 'What the watches missed: should be nothing.'],
      'ops',
      { '{{resource}}': sumRate('resource', 'tether_relist_changes_total') },
    ),
    graph(
      ['Reads', 'Runs that found the view out of sync, and asked the API server instead.'],
      'ops',
      {
        live: `sum(${rate('tether_view_misses_total')})`,
        all: `sum(${rate('tether_reconciles_total')})`,
      },
    ),
  ],
};

/** The processes themselves. */
export const processes: Row = {
  title: 'Processes',
  width: 6,
  height: 7,
  panels: [
    graph(['CPU', 'In cores: a process is at its end at little more than 1.'], 'short', {
      '{{instance}}': ours(rate('process_cpu_seconds_total')),
    }),
    graph(['Memory', 'Resident.'], 'bytes', {
      '{{instance}}': ours(series('process_resident_memory_bytes')),
    }),
    graph(
      ['Event loop lag, p99', 'How late a timer came. Seconds mean that locks may be lost.'],
      's',
      { '{{instance}}': ours(series('nodejs_eventloop_lag_p99_seconds')) },
    ),
    graph(['Uptime', 'A saw: something ends the process again and again.'], 's', {
      '{{instance}}': ours(`time() - ${series('process_start_time_seconds')}`),
    }),
  ],
};
