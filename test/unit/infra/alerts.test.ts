import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { fullMetrics } from '../../support/full-metrics.ts';
import { readPromql, selects, type Series } from '../../support/promql.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const ROOT = join(import.meta.dirname, '../../..');
const FILE = join(ROOT, 'infra/helm/tether/files/alerts.yaml');
const { groups } = parse(readFileSync(FILE, 'utf8')) as {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
};
const RULES = groups.flatMap(({ rules }) => rules);
const BY_NAME = RULES.map((rule) => [rule.alert, rule] as const);
const RUNBOOK = 'docs/alerts.md';

/** Put on every target by the Prometheus operator; no process knows its own. */
const OF_TARGETS = ['namespace'];

let series: readonly Series[];
beforeAll(async () => {
  ({ series } = await fullMetrics());
});

describe.each(BY_NAME)('the alert %s', (name, rule) => {
  it('asks for series that a process exports, by labels and values that they have', () => {
    const { selectors, grouping } = readPromql(rule.expr);
    expect(selectors).not.toEqual([]);
    for (const selector of selectors) {
      const found = series.filter((one) => selects(selector, one, OF_TARGETS));
      expect({ selector, series: found.length }).not.toEqual({ selector, series: 0 });
    }
    const named = new Set([...OF_TARGETS, ...labelsOf(selectors.map(({ metric }) => metric))]);
    expect(grouping.filter((label) => !named.has(label))).toEqual([]);
  });

  it('says how bad it is, what is the matter, and where to read on', () => {
    expect(['critical', 'warning']).toContain(rule.labels['severity']);
    const { summary = '', description = '', runbook_url: runbook } = rule.annotations;
    expect(summary).toMatch(/\.$/);
    expect(description.trim()).toMatch(/\.$/);
    expect(runbook).toBe(`${RUNBOOK}#${name.toLowerCase()}`);
  });

  it('mentions in its texts only labels that its expression keeps', () => {
    const { grouping } = readPromql(rule.expr);
    const texts = Object.values(rule.annotations).join('\n');
    const mentioned = [...texts.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label ?? '');
    expect(mentioned.filter((label) => !grouping.includes(label))).toEqual([]);
  });
});

it('no two alerts have one name, and no two groups', () => {
  for (const names of [RULES.map(({ alert }) => alert), groups.map(({ name }) => name)]) {
    expect(names).toEqual([...new Set(names)]);
  }
});

it('the runbook has a section for each alert, with its severity, and no other', () => {
  const page = readFileSync(join(ROOT, RUNBOOK), 'utf8');
  const sections = [...page.matchAll(/^### (\w+)\n\n_(\w+)\._/gm)].map(([, name, how]) => [
    name,
    how,
  ]);
  const rules = RULES.map(({ alert, labels }) => [alert, labels['severity']]);
  expect(sections).toEqual(rules);
  expect(page.match(/^### /gm)).toHaveLength(rules.length);
});

describe('where promtool is there', () => {
  it('Prometheus itself takes the file', async () => {
    const told = await promtool('check', 'rules', FILE);
    if (told !== null) expect(told).toContain(`SUCCESS: ${RULES.length} rules found`);
  });

  it('alerts fire when they should, and not before', async () => {
    const told = await promtool('test', 'rules', join(import.meta.dirname, 'alert-rules.yaml'));
    if (told !== null) expect(told).toContain('SUCCESS');
  });
});

/** What promtool says; null where there is none, which is said. */
async function promtool(...args: readonly string[]): Promise<string | null> {
  try {
    return (await promisify(execFile)('promtool', args)).stdout;
  } catch (error) {
    const { code, stdout, stderr } = error as NodeJS.ErrnoException & Record<string, string>;
    if (code === 'ENOENT') {
      const what = `promtool ${args.slice(0, 2).join(' ')}`;
      process.stdout.write(
        `\n!!! NOT TESTED: what ${what} says of the alerts, as there is no promtool\n\n`,
      );
      return null;
    }
    throw new Error(`promtool: ${stdout ?? ''}${stderr ?? ''}`, { cause: error });
  }
}

function labelsOf(metrics: readonly string[]): string[] {
  return series
    .filter(({ name }) => metrics.includes(name))
    .flatMap(({ labels }) => Object.keys(labels));
}
