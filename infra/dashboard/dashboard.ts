import type { Panel, Query, Row } from './panel.ts';
import { linkedClusters, lookups } from './rows/linked.ts';
import { overview } from './rows/overview.ts';
import { apiServer, processes, watches } from './rows/surroundings.ts';
import { queue, reconciles } from './rows/work.ts';

export const ROWS: readonly Row[] = [
  overview,
  queue,
  reconciles,
  apiServer,
  watches,
  linkedClusters,
  lookups,
  processes,
];

/** The last version of the schema of classic dashboards (Grafana 12); older ones load it as well. */
const SCHEMA_VERSION = 42;
const COLUMNS = 24;
const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** The dashboard as Grafana imports and provisions it. */
export function dashboard(rows: readonly Row[] = ROWS): object {
  return {
    uid: 'tether',
    title: 'Tether',
    description: 'Queue, reconciles, watches, linked clusters and look-ups of Tether.',
    tags: ['tether', 'kubernetes'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    templating: { list: VARIABLES },
    annotations: { list: [FIRING] },
    panels: placed(rows).map((place, at) => ({ id: at + 1, ...place })),
  };
}

/** Rows from top to bottom; the panels of each from left to right, and on a further line when one is full. */
function placed(rows: readonly Row[]): object[] {
  let y = 0;
  return rows.flatMap((row) => {
    const heading = { type: 'row', title: row.title, collapsed: false, panels: [] };
    const top = y + 1;
    const perLine = Math.floor(COLUMNS / row.width);
    const lines = Math.ceil(row.panels.length / perLine);
    const panels = row.panels.map((panel, at) => {
      const line = Math.floor(at / perLine);
      const x = (at % perLine) * row.width;
      return render(panel, { x, y: top + line * row.height, w: row.width, h: row.height });
    });
    const place: Place = { x: 0, y, w: COLUMNS, h: 1 };
    y = top + lines * row.height;
    return [{ ...heading, gridPos: place }, ...panels];
  });
}

function render(panel: Panel, gridPos: Place): object {
  const { title, description, queries } = panel;
  const targets = queries.map((query, at) => target(panel, query, at));
  const common = { title, description, gridPos, datasource: DATASOURCE, targets };
  if (panel.kind === 'graph') return { type: 'timeseries', ...common, ...graphLooks(panel) };
  if (panel.kind === 'stat') return { type: 'stat', ...common, ...statLooks(panel) };
  return { type: 'table', ...common, ...tableLooks(panel) };
}

function target({ kind }: Panel, { expr, legend }: Query, at: number): object {
  const now = kind === 'graph' ? {} : { instant: true, range: false };
  const format = kind === 'table' ? { format: 'table' } : {};
  const refId = String.fromCharCode(65 + at);
  return { refId, datasource: DATASOURCE, expr, legendFormat: legend, ...now, ...format };
}

function graphLooks({ unit, stacked }: Panel): object {
  const custom = {
    lineWidth: 1,
    fillOpacity: stacked ? 30 : 8,
    showPoints: 'never',
    stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
  };
  return {
    fieldConfig: { defaults: { unit, min: 0, custom }, overrides: [] },
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  };
}

function statLooks({ unit, thresholds = [], words = {} }: Panel): object {
  const steps = thresholds.map(({ from, colour }, at) => ({
    color: colour,
    // The first one holds for whatever is less, too.
    value: at === 0 ? null : from,
  }));
  const options = Object.fromEntries(
    Object.entries(words).map(([value, text], index) => [value, { text, index }]),
  );
  const mappings = Object.keys(words).length === 0 ? [] : [{ type: 'value', options }];
  const all = steps.length === 0 ? [{ color: 'green', value: null }] : steps;
  return {
    fieldConfig: {
      defaults: { unit, mappings, thresholds: { mode: 'absolute', steps: all } },
      overrides: [],
    },
    options: {
      colorMode: 'background',
      graphMode: 'none',
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    },
  };
}

function tableLooks({ columns = [] }: Panel): object {
  const indexByName = Object.fromEntries(columns.map((name, at) => [name, at]));
  const organize = { excludeByName: { Time: true, Value: true }, indexByName, renameByName: {} };
  return {
    fieldConfig: { defaults: {}, overrides: [] },
    options: { showHeader: true },
    transformations: [{ id: 'organize', options: organize }],
  };
}

const VARIABLES = [
  {
    name: 'datasource',
    label: 'Prometheus',
    type: 'datasource',
    query: 'prometheus',
  },
  labelVariable('namespace', 'tether_redis_up'),
  labelVariable('cluster', 'tether_cluster_state'),
];

/** All values of a label, several at a time; "All" also finds series without it. */
function labelVariable(label: string, metric: string): object {
  const query = `label_values(${metric}, ${label})`;
  return {
    name: label,
    label,
    type: 'query',
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: label },
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  };
}

/** When an alert of Tether fires, a mark in every graph. */
const FIRING = {
  name: 'Alerts',
  enable: true,
  iconColor: 'red',
  datasource: DATASOURCE,
  expr: 'ALERTS{alertname=~"Tether.+", alertstate="firing"}',
  step: '60s',
  titleFormat: '{{alertname}}',
  textFormat: '{{namespace}} {{cluster}} {{resource}}',
};
