// The state of the fleet's view is in the address behind #, so that a view can be sent.

import { rank, wrong, type Departed, type Limit, type RolledSet, type Row, type Sample, type Subject } from "./types";

export const dimensions = ["set", "zone", "type", "provider", "phase", "namespace"] as const;
export type Dimension = (typeof dimensions)[number];

export interface View { text: string; by: Dimension; states: string[] }

export type Route =
  | { page: "fleet"; view: View }
  | { page: "object"; api: string; kind: string; namespace: string; name: string; beside: string }
  | { page: "plan"; about: string };

const path = (...parts: string[]) => "#/" + parts.map(encodeURIComponent).join("/");

export function parseRoute(hash: string): Route {
  const [place = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = place.split("/").map(decode);
  const q = new URLSearchParams(query);
  if (parts[0] === "object" && parts.length === 5) {
    const [, api, kind, namespace, name] = parts as [string, string, string, string, string];
    return { page: "object", api, kind, namespace, name, beside: q.get("beside") ?? "" };
  }
  if (place === "plan") return { page: "plan", about: q.get("about") ?? "" };
  const by = q.get("by") as Dimension;
  const states = (q.get("states") ?? "").split(",").filter(Boolean);
  return { page: "fleet", view: { text: q.get("q") ?? "", by: dimensions.includes(by) ? by : "set", states } };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function fleetAddress(v: View): string {
  const q = new URLSearchParams();
  if (v.text) q.set("q", v.text);
  if (v.by !== "set") q.set("by", v.by);
  if (v.states.length) q.set("states", v.states.join(","));
  const text = q.toString();
  return "#/" + (text ? "?" + text : "");
}

export function objectAddress(o: { api?: string; kind: string; namespace?: string; name: string }, beside = ""): string {
  return path("object", o.api ?? "", o.kind, o.namespace ?? "", o.name) + (beside ? "?beside=" + encodeURIComponent(beside) : "");
}

// keyOf names an object in an address, and in the lists of objects that inputs suggest.
export const keyOf = (o: { api?: string; kind: string; namespace?: string; name: string }): string => [o.kind, o.api, o.namespace, o.name].join("/");

export const planAddress = (o: Parameters<typeof keyOf>[0]): string => "#/plan?about=" + encodeURIComponent(keyOf(o));

// parseKey returns the object of a key; undefined if it is none.
export function parseKey(key: string): Subject | undefined {
  const [kind, api, namespace, name, more] = key.trim().split("/");
  return kind && api && namespace && name && more === undefined ? { kind, api, namespace, name } : undefined;
}

// nested is a merge patch that sets the value at a path like spec.template.spec.class.name. Text that is no JSON is a
// string, and no text deletes the field.
export function nested(path: string, value: string): unknown {
  let out: unknown = value;
  try {
    out = value.trim() === "" ? null : JSON.parse(value);
  } catch {
    // a string
  }
  for (const key of path.trim().split(".").reverse()) out = { [key]: out };
  return out;
}

// numberProblem and fieldProblem say what is wrong with a number of machines, and with the path of a field; empty: nothing.
export const numberProblem = (value: string): string => (/^\d{1,6}$/.test(value.trim()) ? "" : "Machines: must be a whole number, 0 or more.");
export const fieldProblem = (path: string): string =>
  path.trim() && path.trim().split(".").every(Boolean) ? "" : "Field: must be a path of names with dots between them, such as spec.providerSpec.value.instanceType.";

// terms of a search: words that must all occur, and key:value pairs that must be equal.
export function matches(r: Row, text: string, setOf: (r: Row) => string): boolean {
  return text.toLowerCase().split(/\s+/).filter(Boolean).every((term) => {
    const [key, value] = term.split(/:(.*)/s, 2) as [string, string | undefined];
    if (value !== undefined && (dimensions as readonly string[]).includes(key)) {
      return valueOf(r, key as Dimension, setOf).toLowerCase() === value;
    }
    if (value !== undefined && key === "state") return r.state.toLowerCase() === value;
    return [r.name, r.node, r.zone, r.type, r.phase, r.state, r.reason, r.namespace, setOf(r), r.sentence, r.next].some((s) => s?.toLowerCase().includes(term)) ||
      (r.because ?? []).some((c) => c.message.toLowerCase().includes(term));
  });
}

const day = 86_400_000, mostDeparted = 500;

// at is the latest known time of a deletion.
export const departedAt = (d: Departed): string => d.deleted ?? d.terminated ?? d.terminating ?? d.requested ?? "";

// departedBy is the client that deleted a machine. Without its name, the cause may show that it was the machine's set.
export const departedBy = (d: Departed): string => d.by ?? (d.owner && (d.cause === "ScaleDown" || d.cause === "Rollout") ? d.owner : d.cause === "Manual" ? "a client, not its set" : "unknown");

// departedNow are the deleted machines after a change, the newest first: those of the last 24 hours, and at most 500. A
// machine that exists is not deleted.
export function departedNow(was: Departed[], got: Departed[], rows: Map<string, Row>): Departed[] {
  if (!got.length && !was.some((d) => rows.has(d.uid))) return was;
  const all = new Map([...was, ...got].map((d) => [d.uid, d]));
  return [...all.values()].filter((d) => !rows.has(d.uid)).sort((a, b) => Date.parse(departedAt(b)) - Date.parse(departedAt(a)) || compare(a.name, b.name)).slice(0, mostDeparted);
}

// recent are the deleted machines of the last 24 hours.
export const recent = (all: Departed[], now: number): Departed[] => all.filter((d) => Date.parse(departedAt(d)) > now - day);

// matchesDeparted is the search among deleted machines.
export const matchesDeparted = (d: Departed, text: string): boolean =>
  text.toLowerCase().split(/\s+/).filter(Boolean).every((term) => {
    const [key, value] = term.split(/:(.*)/s, 2) as [string, string | undefined];
    const set = d.owner?.split("/")[1] ?? "";
    switch (value !== undefined ? key : "") {
      case "set": return set.toLowerCase() === value;
      case "zone": case "type": case "namespace": return (d[key as "zone"] ?? "").toLowerCase() === value;
      case "state": return value === "gone" || value === "deleted";
    }
    return [d.name, d.namespace, d.node, d.zone, d.type, set, d.cause, d.by, d.why, d.words].some((s) => s?.toLowerCase().includes(term));
  });

// departedOf are the deleted machines of a set, or of the sets of a deployment.
export const departedOf = (all: Departed[], api: string, namespace: string, owners: string[]): Departed[] =>
  all.filter((d) => d.api === api && d.namespace === namespace && !!d.owner && owners.includes(d.owner));

// lastFleet is the address of the view of the fleet that was shown last, to which pages lead back.
let lastFleet = "#/";
export const fleetShown = (hash: string): void => { lastFleet = parseRoute(hash).page === "fleet" ? hash || "#/" : lastFleet; };
export const backToFleet = (): string => lastFleet;

export function valueOf(r: Row, by: Dimension, setOf: (r: Row) => string): string {
  switch (by) {
    case "set": return setOf(r);
    case "namespace": return r.namespace ?? "";
    default: return r[by] ?? "";
  }
}

export interface Group { name: string; rows: Row[]; worst: number }

// grouped are the machines by a dimension, the groups with the worst machines first.
export function grouped(rows: Row[], by: Dimension, setOf: (r: Row) => string): Group[] {
  const groups = new Map<string, Group>();
  for (const r of rows) {
    const name = valueOf(r, by, setOf);
    let g = groups.get(name);
    if (!g) groups.set(name, (g = { name, rows: [], worst: 99 }));
    g.rows.push(r);
    g.worst = Math.min(g.worst, rank(r.state));
  }
  return [...groups.values()].sort((a, b) => a.worst - b.worst || compare(a.name, b.name));
}

export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const worstFirst = (a: Row, b: Row): number =>
  rank(a.state) - rank(b.state) || compare(a.kind, b.kind) || compare(a.namespace ?? "", b.namespace ?? "") || compare(a.name, b.name);

// Trouble is an object in trouble, with the others of the same owner that have the same reason.
export interface Trouble { row: Row; more: Row[] }

// troublesOf are the troubles of a fleet, the worst first. A set or deployment that is only degraded because of machines
// in trouble says the same as these, and is left out.
export function troublesOf(rows: Row[]): Trouble[] {
  const byID = new Map(rows.map((r) => [r.id, r]));
  const bad = rows.filter((r) => wrong.includes(r.state)).sort(worstFirst);
  const owners = new Set<string | undefined>();
  for (const r of bad) {
    if (r.kind === "Machine") owners.add(r.owner).add(byID.get(r.owner ?? "")?.owner);
  }
  const found = new Map<string, Trouble>();
  for (const r of bad) {
    if (r.state === "Degraded" && owners.has(r.id)) continue;
    const key = [r.owner ?? r.id, r.kind, r.state, r.reason, r.because?.[0]?.message].join("|");
    const first = found.get(key);
    if (first) first.more.push(r);
    else found.set(key, { row: r, more: [] });
  }
  return [...found.values()];
}

// since is a duration as kubectl prints ages; empty if the time is not known.
export function since(from: string, to: number): string {
  if (!(Date.parse(from) > 0)) return "";
  const s = Math.max(0, Math.round((to - Date.parse(from)) / 1000));
  if (s < 120) return s + "s";
  if (s < 2 * 3600) return Math.floor(s / 60) + "m";
  if (s < 48 * 3600) return Math.floor(s / 3600) + "h";
  return Math.floor(s / 86400) + "d";
}

// ago is the same in words.
export const ago = (from: string | undefined, to: number): string => (from && since(from, to) ? since(from, to) + " ago" : "");

// until is a time that is ahead: its date and clock time in a time zone, else here, and how long that is.
export const until = (at: string | undefined, now: number, zone?: string): string =>
  at && Date.parse(at) > 0 ? `${clock(at, zone)} (in ${since(new Date(now).toISOString(), Date.parse(at))})` : "";

function clock(at: string, zone?: string): string {
  const o: Intl.DateTimeFormatOptions = { weekday: "short", hour: "2-digit", minute: "2-digit", day: "numeric", month: "short" };
  try {
    return new Date(at).toLocaleString([], zone ? { ...o, timeZone: zone } : o) + (zone ? " " + zone : "");
  } catch { // a time zone that the browser does not know
    return new Date(at).toLocaleString([], o);
  }
}

// windows say when the limits of a budget end that apply now, and when others begin.
export const windows = (limits: Limit[] | undefined, now: number): string[] =>
  (limits ?? []).flatMap((l) => {
    const about = l.nodes + (l.reasons?.length ? ` for ${l.reasons.join(", ")}` : "");
    if (l.active) return l.ends ? [`${about} until ${until(l.ends, now, l.zone)}`] : [];
    return l.begins ? [`${about} from ${until(l.begins, now, l.zone)} on`] : [];
  });

// applies says when a limit applies.
export const applies = (l: Limit): string => [l.schedule, l.query && `while Prometheus returns samples for ${l.query}`].filter(Boolean).join(", ") || "always";

// waitsFor reports whether the machine of a row waits for a machine disruption budget, by what its controller has stored.
export const waitsFor = (r: Row, budget: string): boolean =>
  r.kind === "Machine" && (r.because ?? []).some((c) => c.message.includes(`machine disruption budget ${budget}, which `));

export const emergencyStop = "emergency-stop";

export const budgetAddress = (name: string): string => objectAddress({ api: "millwright.dev", kind: "MachineDisruptionBudget", name });

const mostSeen = 2000;

// merged are the samples that the page has seen, and those that it gets now: the server keeps old ones more sparsely.
export function merged(seen: Sample[], got: Sample[]): Sample[] {
  const all = new Map<string, Sample>();
  for (const s of [...seen, ...got]) if (!s.created) all.set(s.at, s);
  const recorded = [...all.values()].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  const changed = recorded.filter((s, i) => i === 0 || JSON.stringify(s.sets) !== JSON.stringify(recorded[i - 1]!.sets));
  return [...got.filter((s) => s.created), ...changed.slice(-mostSeen)];
}

// columns are the samples that hold at the ends of n equal spans between two times; undefined before the first sample.
export function columns(samples: Sample[], from: number, to: number, n: number): (Sample | undefined)[] {
  const out: (Sample | undefined)[] = [];
  let next = 0;
  for (let i = 1; i <= n; i++) {
    const end = from + (i * (to - from)) / n;
    while (next < samples.length && Date.parse(samples[next]!.at) <= end) next++;
    out.push(samples[next - 1]);
  }
  return out;
}

// Segment is a part of a column, from the bottom up.
export interface Segment { kind: "new" | "old" | "new-waits" | "old-waits" | "new-created" | "old-created" | "deleting"; count: number }

// segments are the machines of a sample: those of the new set first, available before unavailable, in deletion last.
export function segments(s: Sample, sets: RolledSet[]): Segment[] {
  const current = new Set(sets.filter((x) => x.current).map((x) => x.id));
  const counts = new Map<Segment["kind"], number>();
  const add = (kind: Segment["kind"], n: number) => counts.set(kind, (counts.get(kind) ?? 0) + n);
  for (const x of s.sets ?? []) {
    const of = current.has(x.id) ? "new" : "old";
    const there = Math.max(0, x.machines - x.deleting), available = Math.min(x.available, there);
    if (s.created) add(`${of}-created`, x.machines);
    else {
      add(of, available);
      add(`${of}-waits`, there - available);
      add("deleting", x.deleting);
    }
  }
  const order: Segment["kind"][] = ["new", "old", "new-created", "old-created", "new-waits", "old-waits", "deleting"];
  return order.map((kind) => ({ kind, count: counts.get(kind) ?? 0 })).filter((x) => x.count > 0);
}

export const spans = ["rollout", "10 minutes", "1 hour", "everything"] as const;
export type Span = (typeof spans)[number];

// begin is when a span of time begins: the rollout begins when its new set is created.
export function begin(span: Span, samples: Sample[], sets: RolledSet[], now: number): number {
  const first = Math.min(now - 60_000, ...samples.map((s) => Date.parse(s.at)));
  switch (span) {
    case "10 minutes": return now - 600_000;
    case "1 hour": return now - 3_600_000;
    case "everything": return first;
  }
  const started = Math.max(...sets.filter((s) => s.current).map((s) => Date.parse(s.created)));
  if (!Number.isFinite(started)) return first;
  return Math.max(started - Math.max(30_000, (now - started) / 10), first);
}
