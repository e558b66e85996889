import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { dashboard, ROWS } from '../../../infra/dashboard/dashboard.ts';
import { stat, type Row } from '../../../infra/dashboard/panel.ts';
import { fullMetrics } from '../../support/full-metrics.ts';
import { readPromql, selects, type Series } from '../../support/promql.ts';

interface GridPos {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface PanelJson {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: GridPos;
  readonly targets?: readonly {
    readonly refId: string;
    readonly expr: string;
    readonly legendFormat: string;
  }[];
}

interface DashboardJson {
  readonly panels: readonly PanelJson[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly definition?: string }[];
  };
}

const FILE = join(import.meta.dirname, '../../../infra/helm/tether/files/dashboard.json');
const made = dashboard() as DashboardJson;

/** Put on every target by Prometheus, or by its operator; no process knows its own. */
const OF_TARGETS = ['namespace', 'job', 'instance'];

let series: readonly Series[];
beforeAll(async () => {
  ({ series } = await fullMetrics());
});

it('the file is what infra/dashboard makes (npm run dashboard)', () => {
  expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(made);
});

describe.each(ROWS.flatMap(({ panels }) => panels).map((panel) => [panel.title, panel] as const))(
  'the panel %s',
  (_, panel) => {
    it('asks for series that a process exports, by labels and values that they have', () => {
      for (const { expr, legend } of panel.queries) {
        const { selectors, grouping } = readPromql(filledIn(expr));
        expect(selectors).not.toEqual([]);
        for (const selector of selectors) {
          const found = series.filter((one) => selects(selector, one, OF_TARGETS));
          expect({ selector, series: found.length }).not.toEqual({ selector, series: 0 });
        }
        const named = new Set([...OF_TARGETS, ...labelsOf(selectors.map(({ metric }) => metric))]);
        const legendLabels = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label ?? '');
        const all = [...grouping, ...legendLabels, ...(panel.columns ?? [])];
        expect(all.filter((label) => !named.has(label))).toEqual([]);
      }
    });

    it('says how to read it', () => {
      expect(panel.description).toMatch(/\.$/);
    });
  },
);

it('ids are unique, and so are queries within a panel', () => {
  const ids = made.panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { targets = [] } of made.panels) {
    const refIds = targets.map(({ refId }) => refId);
    expect(new Set(refIds).size).toBe(refIds.length);
  }
});

describe('no panel lies over another, or beside the grid', () => {
  it('in the file', () => expect(overlaps(made.panels)).toEqual([]));

  it('whatever a row holds', () => {
    const panels = Array.from({ length: 7 }, () => stat(['A', 'B.'], 's', 'up'));
    const rows: readonly Row[] = [1, 3, 8, 12, 24].map((width) => ({
      title: `${width}`,
      width,
      height: 3,
      panels,
    }));
    expect(overlaps((dashboard(rows) as DashboardJson).panels)).toEqual([]);
  });
});

it('variables choose by labels that there are', () => {
  const definitions = made.templating.list.flatMap(({ definition }) => definition ?? []);
  expect(definitions).toEqual([
    'label_values(tether_redis_up, namespace)',
    'label_values(tether_cluster_state, cluster)',
  ]);
  const used = [...JSON.stringify(made).matchAll(/\$\{?([a-z]\w*)/g)].map(([, name]) => name ?? '');
  const names = made.templating.list.map(({ name }) => name);
  expect(used.filter((name) => !names.includes(name))).toEqual([]);
});

/** Grafana's variables as Grafana would fill them in. */
function filledIn(expr: string): string {
  return expr.replaceAll('$__rate_interval', '1m').replaceAll(/\$(namespace|cluster)/g, '.*');
}

function labelsOf(metrics: readonly string[]): string[] {
  return series
    .filter(({ name }) => metrics.includes(name))
    .flatMap(({ labels }) => Object.keys(labels));
}

/** Titles of panels that share a cell, or leave the 24 columns. */
function overlaps(panels: readonly PanelJson[]): string[] {
  const taken = new Map<string, string>();
  return panels.flatMap(({ title, gridPos: { x, y, w, h } }) => {
    const cells = Array.from(
      { length: w * h },
      (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`,
    );
    const met = cells.flatMap((cell) => taken.get(cell) ?? []);
    for (const cell of cells) taken.set(cell, title);
    return x + w > 24 ? [title, ...met] : met;
  });
}
