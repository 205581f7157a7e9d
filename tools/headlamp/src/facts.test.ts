// Tests of what the pages show, against objects that controllers have written: testdata/machines.json was recorded from the
// fleet of `make run`, with a template that cannot be used and a deletion that a hook holds.

import { describe, expect, it } from 'vitest';
import { apiOf, asksOf, commandsOf, gardener, lifeOf, type Machine, matches, openshift, rowOf, troubleOf, worstFirst } from './facts';
import machines from './testdata/machines.json';

const recorded = machines as unknown as Machine[];
const of = (api: string) => recorded.filter(m => apiOf(m) === api);

const machine = (more: Partial<Machine>): Machine => ({ apiVersion: openshift + '/v1beta1', kind: 'Machine', metadata: { name: 'a', namespace: 'blue' }, ...more });

describe('recorded machines', () => {
  it('are of both APIs', () => {
    expect(of(openshift).length).toBeGreaterThan(2);
    expect(of(gardener).length).toBeGreaterThan(2);
  });

  it.each([openshift, gardener])('of %s have a phase, a set and a node', api => {
    const running = of(api).map(rowOf).filter(r => r.phase === 'Running');
    expect(running.length).toBeGreaterThan(0);
    for (const r of running) {
      expect(r.set).not.toBe('');
      expect(r.node).not.toBe('');
      expect(r).toMatchObject({ severity: 'success', wrong: '' });
    }
  });

  it('say what is wrong in the words of their status', () => {
    const rows = recorded.map(rowOf);
    expect(rows.find(r => r.wrong.includes('numCors'))).toMatchObject({ severity: 'error' });
    expect(rows.find(r => r.wrong.includes('the hook backup of storage-operator'))).toMatchObject({ severity: 'warning' });
  });

  it.each([openshift, gardener])('of %s have a life that begins with their creation and has the requests of their record', api => {
    for (const m of of(api).filter(m => troubleOf(m).severity === 'success')) {
      const life = lifeOf(m, []);
      expect(life[0]).toMatchObject({ what: 'machine created' });
      expect(life.filter(x => x.what === 'instance requested').length).toBe(asksOf(m).length);
      expect(asksOf(m).length).toBeGreaterThan(0);
      expect([...life].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))).toEqual(life);
      expect(life.some(x => x.what.startsWith('InstanceRecord'))).toBe(false);
    }
  });
});

describe('what is wrong', () => {
  it.each<[string, Partial<Machine>, string, string]>([
    ['no status', {}, 'warning', 'No controller has written a status yet.'],
    ['a phase of the other API', { status: { currentStatus: { phase: 'CrashLoopBackOff' }, lastOperation: { description: 'no quota', state: 'Failed' } } }, 'error', 'no quota'],
    ['only a phase', { status: { phase: 'Failed' } }, 'error', 'The phase is Failed.'],
    ['a condition', { status: { phase: 'Provisioning', conditions: [{ type: 'InstanceExists', status: 'False', message: 'not yet' }] } }, 'warning', 'InstanceExists: not yet'],
    ['a condition of the node', { status: { phase: 'Provisioned', conditions: [{ type: 'DiskPressure', status: 'False', message: 'enough' }] } }, 'warning', 'The phase is Provisioned.'],
    ['an error while it runs', { status: { phase: 'Running', errorReason: 'UpdateError', errorMessage: 'changed' } }, 'error', 'UpdateError: changed'],
    ['in order', { status: { phase: 'Running', errorMessage: null } }, 'success', ''],
  ])('%s', (_, more, severity, wrong) => {
    expect(troubleOf(machine(more))).toEqual({ severity, wrong });
  });
});

describe('the record', () => {
  const record = (message: string) => machine({ metadata: { name: 'a', uid: 'u' }, status: { conditions: [{ type: 'InstanceRecord', status: 'True', message }] } });
  it('has the requests', () => expect(asksOf(record('{"uid":"u","asks":[{"n":1,"at":"2026-11-30T00:09:17Z"}]}'))).toHaveLength(1));
  it('of another machine is ignored', () => expect(asksOf(record('{"uid":"v","asks":[{"n":1,"at":"2026-11-30T00:09:17Z"}]}'))).toEqual([]));
  it.each(['', '{', 'null', '{"uid":"u","asks":7}'])('that cannot be read is ignored: %s', text => expect(asksOf(record(text))).toEqual([]));
});

describe('the table', () => {
  it('has the worst first', () => {
    const rows = recorded.map(rowOf).sort(worstFirst);
    const rank = { error: 0, warning: 1, success: 2 };
    expect(rows.map(r => rank[r.severity])).toEqual(rows.map(r => rank[r.severity]).sort());
  });
  it('is searched by words and by columns', () => {
    const r = rowOf(machine({ metadata: { name: 'mill-a', namespace: 'blue', labels: { 'machine.openshift.io/zone': 'eu-1b' } }, status: { phase: 'Failed', errorMessage: 'no subnet' } }));
    for (const text of ['', 'mill', 'zone:eu-1b', 'phase:failed subnet', 'MILL blue']) expect(matches(r, text), text).toBe(true);
    for (const text of ['oak', 'zone:eu-1', 'phase:running', 'mill oak']) expect(matches(r, text), text).toBe(false);
  });
});

it('commands name the API and the namespace', () => {
  for (const m of [of(openshift)[0]!, of(gardener)[0]!]) {
    for (const { line } of commandsOf(m)) expect(line).toContain(`machines.${apiOf(m)}/${m.metadata.name}`);
  }
});
