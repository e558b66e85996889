import { quantile, rate, series, sumRate } from '../expressions.ts';
import { graph, table, type Row } from '../panel.ts';

const CLUSTER = 'cluster=~"$cluster"';

/** Linked clusters: the gauges are the same in every process. */
export const linkedClusters: Row = {
  title: 'Linked clusters',
  width: 8,
  height: 7,
  panels: [
    table(
      ['States', 'What to do about each is in docs/clusters.md.'],
      `max by (cluster, state) (${series('tether_cluster_state', CLUSTER)}) == 1`,
      ['cluster', 'state'],
    ),
    graph(['Time since in sync', 'A second or two; grows while a cluster is Stale.'], 's', {
      '{{cluster}}': `max by (cluster) (${series('tether_cluster_sync_age_seconds', CLUSTER)})`,
    }),
    graph(['Objects', 'Services, EndpointSlices and ExternalWorkloads in the view.'], 'short', {
      '{{cluster}}': `max by (cluster) (${series('tether_cluster_objects', CLUSTER)})`,
    }),
    graph(['Credential: time left', 'Of those that say when they end.'], 's', {
      '{{cluster}}': `max by (cluster) (${series('tether_cluster_credential_expiry_timestamp_seconds', CLUSTER)}) - time()`,
    }),
    graph(
      [
        'Last word of their API servers',
        'Bookmarks come each minute. Of a kind that a cluster does not have nothing is heard.',
      ],
      's',
      {
        '{{cluster}} {{resource}}': `max by (cluster, resource) (${series('tether_cluster_watch_last_contact_seconds', CLUSTER)})`,
      },
    ),
    graph(['Watches', 'Begun anew; changes that only a list found.'], 'ops', {
      '{{cluster}} begun anew': sumRate('cluster', 'tether_cluster_watch_restarts_total', CLUSTER),
      '{{cluster}} missed': sumRate('cluster', 'tether_cluster_relist_changes_total', CLUSTER),
    }),
    graph(['Failed tries in a row', 'Of the probe or of a watch; 0 when all is well.'], 'short', {
      '{{cluster}}': `max by (cluster) (${series('tether_cluster_attempts', CLUSTER)})`,
    }),
    graph(['Probes', 'cut: the Secret changed meanwhile.'], 'ops', {
      '{{result}}': sumRate('result', 'tether_cluster_probes_total'),
    }),
    graph(
      ['Secrets that conflict', 'Secrets whose cluster an older Secret links already.'],
      'short',
      { '{{cluster}}': `max by (cluster) (${series('tether_cluster_conflicts', CLUSTER)})` },
    ),
  ],
};

/** What clients of look-ups get. */
export const lookups: Row = {
  title: 'Look-ups and triggers',
  width: 8,
  height: 7,
  panels: [
    graph(
      ['Look-ups', 'By HTTP status; a stream counts when it is opened.'],
      'ops',
      { '{{code}}': sumRate('code', 'tether_lookups_total') },
      { stacked: true },
    ),
    graph(['Answered from memory', 'Share of look-ups whose answer was at hand.'], 'percentunit', {
      'at hand': `sum(${rate('tether_lookup_cache_total', 'result="hit"')}) / sum(${rate('tether_lookup_cache_total')})`,
    }),
    graph(
      [
        'Change to subscriber',
        'From when a change was heard of to its last write to a subscriber.',
      ],
      's',
      {
        p50: quantile(0.5, 'tether_lookup_event_seconds'),
        p99: quantile(0.99, 'tether_lookup_event_seconds'),
      },
    ),
    graph(['Subscribers', 'Of streams, and what is remembered for them.'], 'short', {
      subscribers: `sum(${series('tether_lookup_subscribers')})`,
      'Services at hand': `sum(${series('tether_lookup_services')})`,
      'endpoints at hand': `sum(${series('tether_lookup_endpoints')})`,
    }),
    graph(
      ['Slow readers', 'Times that a subscriber was left out until it had read what it was sent.'],
      'ops',
      { '{{instance}}': sumRate('instance', 'tether_lookup_slow_readers_total') },
    ),
    graph(
      ['Triggers', 'Requests for a reconcile over HTTP, by HTTP status.'],
      'ops',
      { '{{code}}': sumRate('code', 'tether_triggers_total') },
      { stacked: true },
    ),
  ],
};
