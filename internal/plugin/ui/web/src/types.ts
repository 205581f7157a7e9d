// The documents that the server sends: rows.go, feed.go and objects.go have the same fields.

export type State =
  | "Stuck" | "Failed" | "Degraded" | "Waiting" | "Deleting" | "Progressing" | "Healthy" | "Gone" | "Unknown" | "Ambiguous";

export interface Subject { api?: string; kind: string; namespace?: string; name: string }

export interface Counts { wanted: number; have: number; updated: number; ready: number; available: number }

export interface Row extends Subject {
  id: string; owner?: string; state: State; reason?: string; sentence?: string; next?: string; because?: Cause[];
  created: string; deleted?: string; phase?: string; node?: string; zone?: string; type?: string; provider?: string;
  counts?: Counts;
}

export interface Cause { source?: string; reason?: string; message: string; since?: string }

export interface Branch extends Subject { state: State; reason: string; because?: Cause[]; parts?: Branch[] }

export interface Answer extends Subject {
  state: State; reason: string; sentence: string; because?: Cause[]; next: string; gaps?: string[]; tree?: Branch;
}

export interface Change {
  at: string; whole?: boolean; rows?: Row[]; removed?: string[]; gaps: string[] | null; controllers: Answer[] | null; budgets?: BudgetRow[] | null; departed?: Departed[] | null;
}

// A MachineDisruptionBudget, and one of its limits.
export interface Limit { nodes: string; allowed: number; reasons?: string[]; schedule?: string; zone?: string; active?: boolean; ends?: string; begins?: string; query?: string; unanswered?: string }

// Departed is a machine that was deleted.
export interface Departed {
  api: string; namespace: string; name: string; uid: string; owner?: string; node?: string; zone?: string; type?: string;
  created?: string; joined?: string; ready?: string; requested?: string; terminating?: string; terminated?: string; deleted?: string;
  cause?: string; by?: string; why?: string; source?: string; evidence?: string; words?: string;
}

// Verdict says whether a drain would finish now, and what would be in its way.
export interface Verdict {
  finishes: boolean; sentence: string; leaving: number; staying: number; notes?: string[];
  blocks?: { pods: string[]; budget: string; allowed: number; healthy: number; desired: number; expected: number; endless?: boolean; why: string; do: string }[];
}

export interface BudgetRow extends Subject {
  id: string; state: State; sentence: string; message?: string; selector?: string; stops?: boolean; since?: string;
  machines: number; inUse: number; limits?: Limit[];
}

export interface Permit extends Subject { reason?: string; since: string }

export interface BudgetPage extends BudgetRow { causes: { reason: string; allowed?: number; inUse: number }[]; permits: Permit[]; cut?: number }

// Selecting is a budget that selects a machine.
export interface Selecting extends BudgetRow { holds?: boolean; reason?: string; held?: string }

// Drain is the drain of a node that a user has ordered. A pod without a reason has left.
export interface Drain {
  node: string; state: "Waiting" | "Draining" | "Done" | "Ended" | "Failed"; message?: string; begun: string; over?: string;
  pods: { namespace: string; name: string; reason?: string; budget?: string; detail?: string; since?: string }[] | null;
}

export interface Happened { at: string; by?: string; what: string; message?: string; count?: number }

export interface Pod { namespace: string; name: string; phase: string; owner?: string; budget?: string; blocked?: boolean }

export interface NodePage {
  name: string; created: string; unschedulable?: boolean; kubelet?: string;
  conditions: { type: string; status: string; message?: string; since: string }[] | null;
  pods: Pod[] | null;
}

export interface Fact { name: string; value: string; where?: string }

// Instance is a machine's instance as stored objects show it; report is what the infrastructure reported for the evidence.
export interface Instance {
  at?: string; facts: Fact[] | null; said?: { about: string; status?: string; reason?: string; message?: string; since?: string }[];
  report?: { taken: string; where: string; facts: Fact[] | null; console?: string };
}

export interface Page {
  at: string; answer: Answer; uid?: string; history?: { events: Happened[] | null; gaps?: string[]; where?: string; expires?: string; deleted?: boolean; instance?: Instance };
  node?: NodePage; rollout?: RolloutPage; check?: CheckPage; budget?: BudgetPage; budgets?: Selecting[]; verdict?: Verdict; departed?: Departed; drain?: Drain; actions?: Offer[]; yaml?: string; error?: string;
}

export interface SetSample { id: string; machines: number; available: number; deleting: number }

// Sample is how many machines the sets of a deployment have at a time; created: by creation times alone.
export interface Sample { at: string; created?: boolean; sets: SetSample[] | null }

export interface RolledSet { id: string; name: string; created: string; revision?: number; current?: boolean; wanted: number }

export interface Bounds { surge: string; unavailable: string; most: number; least: number; deleting?: boolean }

export interface Revision { revision: number; machineSet: string; machines: number; present: boolean; changeCause?: string; undo?: string; refused?: string }

export interface RolloutPage {
  strategy: string; paused?: boolean; wanted: number; bounds?: Bounds; status: string; problem?: boolean; done?: boolean;
  sets: RolledSet[] | null; samples: Sample[] | null; holders?: Answer[]; revisions: Revision[] | null;
}

export interface CheckedMachine extends Subject { state: string; message: string; due?: string; act?: string; why?: string; hold?: string }

export interface CheckPage {
  expected: number; healthy: number; missing?: number; max: number; remaining: number; allowed: boolean; maxUnhealthy?: string;
  remediation: string; sentence: string; doubts?: string[];
  breaker: { mode: string; rate: string; stormShare: number; cooldown: string; storms?: string[] };
  machines: CheckedMachine[] | null; cut?: number; recent?: { machine: string; at: string }[];
}

// severity is the order of states, the worst first; it is the order of `kubectl machine why`.
export const severity: State[] = ["Failed", "Stuck", "Degraded", "Waiting", "Unknown", "Progressing", "Deleting", "Gone", "Ambiguous", "Healthy"];

export const rank = (s: State): number => severity.indexOf(s);

// wrong are the states in which a person may have to act.
export const wrong: State[] = ["Stuck", "Failed", "Degraded", "Waiting", "Unknown"];

export interface PlanRequest { manifest?: string; namespace?: string; object?: Subject; patch?: unknown; delete?: boolean }

export interface Planned { api: string; kind: string; namespace: string; name: string; title?: string; created: number; deleted: number; rest: number; waits?: string[]; lines: { depth: number; text: string }[] | null }

export interface Plan {
  nothing?: boolean; notes?: string[]; unknown?: string[]; plans: Planned[] | null;
  changes: { api: string; kind: string; namespace: string; name: string; verb: string; effect?: string; fields?: { path: string; from: string; to: string }[] }[] | null;
}

export interface Offer { name: string; label: string; value?: string; default?: string; number?: boolean }

export interface ActionRequest { action: string; object: Subject; value?: string; confirm?: boolean; uid?: string; line?: string }

export interface Action { label: string; line: string; uid: string; plan?: Plan; done?: boolean }
