// What the pages show, from the objects of the API server alone. `kubectl machine why` explains more: it reads further objects.

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

interface Hook {
  name: string;
  owner: string;
}

// Machine has the fields of both APIs that the pages read.
export interface Machine {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    ownerReferences?: { kind: string; name: string; controller?: boolean }[];
  };
  spec?: {
    providerID?: string;
    lifecycleHooks?: { preDrain?: Hook[]; preTerminate?: Hook[] };
    nodeTemplate?: { metadata?: { labels?: Record<string, string> } };
  };
  status?: {
    phase?: string;
    errorReason?: string | null;
    errorMessage?: string | null;
    nodeRef?: { name?: string };
    node?: string;
    conditions?: Condition[];
    currentStatus?: { phase?: string; lastUpdateTime?: string };
    lastOperation?: { type?: string; state?: string; description?: string; lastUpdateTime?: string };
  };
}

export interface Row {
  key: string;
  api: string;
  namespace: string;
  name: string;
  set: string;
  phase: string;
  zone: string;
  type: string;
  node: string;
  created: string;
  severity: Severity;
  // wrong says what is wrong or what the machine waits for; empty if it is in order.
  wrong: string;
}

export type Severity = 'error' | 'warning' | 'success';

export const openshift = 'machine.openshift.io', gardener = 'machine.sapcloud.io';

// resources are the classes' arguments: group, version, plural, kind.
export const resources = [
  { group: openshift, version: 'v1beta1' },
  { group: gardener, version: 'v1alpha1' },
] as const;

const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone', 'machine.openshift.io/zone'];
const typeLabels = ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type', 'machine.openshift.io/instance-type'];

const first = (from: (Record<string, string> | undefined)[], keys: string[]): string => {
  for (const labels of from) for (const key of keys) if (labels?.[key]) return labels[key]!;
  return '';
};

export const apiOf = (m: Machine): string => m.apiVersion.split('/')[0] ?? '';

export const phaseOf = (m: Machine): string => m.status?.phase || m.status?.currentStatus?.phase || '';

export const nodeOf = (m: Machine): string => m.status?.nodeRef?.name || m.status?.node || (apiOf(m) === gardener ? m.metadata.labels?.node ?? '' : '');

const severe = ['Failed', 'CrashLoopBackOff', 'Unknown'];

// troubleOf is what is wrong with a machine, in the words of its status.
export function troubleOf(m: Machine): { severity: Severity; wrong: string } {
  const phase = phaseOf(m), s = m.status ?? {};
  if (m.metadata.deletionTimestamp) {
    return { severity: 'warning', wrong: deletionOf(m) };
  }
  if (s.errorMessage || s.errorReason) {
    return { severity: 'error', wrong: [s.errorReason, s.errorMessage].filter(Boolean).join(': ') };
  }
  const operation = s.lastOperation;
  if (operation?.state === 'Failed' || severe.includes(phase)) {
    return { severity: 'error', wrong: operation?.description || falseConditions(m) || `The phase is ${phase}.` };
  }
  if (phase === 'Running') {
    return { severity: 'success', wrong: '' };
  }
  return { severity: 'warning', wrong: operation?.description || falseConditions(m) || (phase ? `The phase is ${phase}.` : 'No controller has written a status yet.') };
}

// deletionOf is what a deletion waits for.
function deletionOf(m: Machine): string {
  const hooks = [...(m.spec?.lifecycleHooks?.preDrain ?? []), ...(m.spec?.lifecycleHooks?.preTerminate ?? [])];
  if (hooks.length > 0) {
    return 'The deletion waits for ' + hooks.map(h => `the hook ${h.name} of ${h.owner}`).join(' and ') + '.';
  }
  return m.status?.lastOperation?.description || falseConditions(m) || 'The machine is being deleted.';
}

// falseConditions are the messages of the machine's own conditions that are False. Conditions that a Gardener machine copies
// from its node have other types.
function falseConditions(m: Machine): string {
  const own = ['InstanceExists', 'Drained', 'Drainable', 'Terminable', 'Ready'];
  return (m.status?.conditions ?? [])
    .filter(c => c.status === 'False' && own.includes(c.type) && c.message)
    .map(c => `${c.type}: ${c.message}`)
    .join(' ');
}

export function rowOf(m: Machine): Row {
  const labels = [m.spec?.nodeTemplate?.metadata?.labels, m.metadata.labels];
  return {
    key: m.metadata.uid ?? [apiOf(m), m.metadata.namespace, m.metadata.name].join('/'),
    api: apiOf(m), namespace: m.metadata.namespace ?? '', name: m.metadata.name,
    set: m.metadata.ownerReferences?.find(o => o.controller)?.name ?? '',
    phase: phaseOf(m), node: nodeOf(m), zone: first(labels, zoneLabels) || keptOf(m).chosenZone || '', type: first(labels, typeLabels),
    created: m.metadata.creationTimestamp ?? '', ...troubleOf(m),
  };
}

const ranks: Record<Severity, number> = { error: 0, warning: 1, success: 2 };

// worstFirst orders rows: the worst first, then by name.
export const worstFirst = (a: Row, b: Row): number =>
  ranks[a.severity] - ranks[b.severity] || compare(a.namespace, b.namespace) || compare(a.name, b.name);

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

// matches reports whether each word of a search occurs in the row, and each key:value is equal.
export const matches = (r: Row, text: string): boolean =>
  text.toLowerCase().split(/\s+/).filter(Boolean).every(term => {
    const [key, value] = term.split(/:([^]*)/, 2) as [string, string | undefined];
    if (value !== undefined && ['set', 'zone', 'type', 'phase', 'namespace', 'node'].includes(key)) {
      return String(r[key as keyof Row]).toLowerCase() === value;
    }
    return [r.name, r.namespace, r.set, r.zone, r.type, r.phase, r.node, r.wrong].some(s => s.toLowerCase().includes(term));
  });

export interface Moment {
  at: string;
  by: string;
  what: string;
  message: string;
}

interface Ask {
  n: number;
  at: string;
  choice?: string;
  attempt?: number;
  closed?: string;
}

// recordType is the condition that keeps a machine's record, as JSON in its message.
export const recordType = 'InstanceRecord';

interface Kept {
  uid?: string;
  chosenZone?: string;
  asks?: Ask[];
}

// keptOf is the record of the machine. A record of another machine, or one that cannot be read, is empty.
function keptOf(m: Machine): Kept {
  const text = m.status?.conditions?.find(c => c.type === recordType)?.message;
  if (!text) return {};
  try {
    const kept = JSON.parse(text) as Kept | null;
    return kept?.uid && kept.uid === m.metadata.uid ? kept : {};
  } catch {
    return {};
  }
}

// asksOf are the recorded requests for the machine's instance.
export function asksOf(m: Machine): Ask[] {
  const asks = keptOf(m).asks;
  return Array.isArray(asks) ? asks : [];
}

export interface Event {
  reason?: string;
  message?: string;
  at: string;
  by?: string;
}

// lifeOf is what is stored about a machine's life, the oldest first.
export function lifeOf(m: Machine, events: Event[]): Moment[] {
  const out: Moment[] = [];
  const add = (at: string | undefined, by: string, what: string, message = '') => {
    if (at && Date.parse(at) > 0) out.push({ at: new Date(at).toISOString(), by, what, message });
  };
  const owner = m.metadata.ownerReferences?.find(o => o.controller);
  add(m.metadata.creationTimestamp, owner ? `${owner.kind}/${owner.name}` : '', 'machine created');
  for (const a of asksOf(m)) {
    const closed = a.closed ? `refused: ${a.closed}` : '';
    add(a.at, 'machine controller', 'instance requested', [`request ${a.n}`, a.choice, closed].filter(Boolean).join(', '));
  }
  for (const c of m.status?.conditions ?? []) {
    if (c.type !== recordType) add(c.lastTransitionTime, 'machine status', `${c.type} is ${c.status}` + (c.reason ? ` (${c.reason})` : ''), c.message);
  }
  const operation = m.status?.lastOperation;
  if (operation) add(operation.lastUpdateTime, 'machine status', [operation.type, operation.state].filter(Boolean).join(' '), operation.description);
  add(m.metadata.deletionTimestamp, '', 'deletion requested');
  for (const e of events) add(e.at, e.by || 'event', e.reason ?? '', e.message);
  return out.sort((a, b) => compare(a.at, b.at));
}

// commandsOf are command lines that say or do more about a machine.
export function commandsOf(m: Machine): { what: string; line: string }[] {
  const object = `machines.${apiOf(m)}/${m.metadata.name}`, place = `-n ${m.metadata.namespace ?? ''}`;
  return [
    { what: 'Why the machine is as it is, with the next step', line: `kubectl machine why ${object} ${place}` },
    { what: 'Its history, with its node and its evidence', line: `kubectl machine history ${object} ${place}` },
    { what: 'What its deletion would do', line: `kubectl machine plan ${object} --delete ${place}` },
  ];
}
