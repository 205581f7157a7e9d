// Tests of the page's functions, run by node: tools/ui bundles them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, emptyFleet } from "./live";
import { bearer } from "./session";
import type { Departed, RolledSet, Row, Sample, State } from "./types";
import { applies, backToFleet, begin, budgetAddress, columns, departedAt, departedBy, departedNow, departedOf, fieldProblem, fleetAddress, fleetShown, grouped, keyOf, matches, matchesDeparted, merged, nested, numberProblem, objectAddress, parseKey, parseRoute, planAddress, recent, segments, since, troublesOf, until, waitsFor, windows } from "./view";

const row = (name: string, more: Partial<Row> = {}): Row => ({
  id: name, kind: "Machine", api: "machine.openshift.io", namespace: "blue", name, state: "Healthy", created: "2026-01-02T12:00:00Z", ...more,
});
const noSet = () => "";

test("addresses lead to the views that they are of", () => {
  for (const view of [
    { text: "", by: "set" as const, states: [] },
    { text: "zone:b & x=1 #?", by: "zone" as const, states: ["Failed", "Stuck"] },
  ]) {
    assert.deepEqual(parseRoute(fleetAddress(view)), { page: "fleet", view });
  }
  const o = { api: "a.b", kind: "Machine", namespace: "n/%", name: "x?y" };
  assert.deepEqual(parseRoute(objectAddress(o, "c/d")), { page: "object", ...o, beside: "c/d" });
});

test("a plan's address names the object", () => {
  const o = { kind: "MachineSet", api: "a.b", namespace: "n", name: "x" };
  assert.deepEqual(parseRoute(planAddress(o)), { page: "plan", about: "MachineSet/a.b/n/x" });
  assert.deepEqual(parseKey(keyOf(o)), o);
  for (const key of ["", "a/b/c", "a/b//d", "a/b/c/d/e"]) assert.equal(parseKey(key), undefined, key);
});

test("a field and a value are a merge patch", () => {
  assert.deepEqual(nested("spec.replicas", "3"), { spec: { replicas: 3 } });
  assert.deepEqual(nested(" a.b ", "m5.large"), { a: { b: "m5.large" } });
  assert.deepEqual(nested("a", '{"b":[1]}'), { a: { b: [1] } });
  assert.deepEqual(nested("a", " "), { a: null });
});

test("a damaged address shows the fleet", () => {
  for (const hash of ["", "#", "#/object/only", "#/%E0%A4%A", "#/?by=nothing"]) {
    assert.equal(parseRoute(hash).page, "fleet", hash);
  }
});

test("each word of a search has to match", () => {
  const r = row("mill-a", { zone: "B", state: "Failed", reason: "Quota" });
  const set = () => "mill";
  for (const text of ["", "mill", "zone:b", "state:failed quota", "SET:mill mill-a"]) assert.ok(matches(r, text, set), text);
  for (const text of ["zone:c", "mill other", "state:healthy", "set:mil"]) assert.ok(!matches(r, text, set), text);
});

test("groups with the worst machines come first", () => {
  const rows = [row("a", { zone: "1" }), row("b", { zone: "2", state: "Degraded" }), row("c", { zone: "3", state: "Failed" }), row("d", { zone: "1" })];
  assert.deepEqual(grouped(rows, "zone", noSet).map((g) => [g.name, g.rows.length]), [["3", 1], ["2", 1], ["1", 2]]);
});

test("machines in the same trouble share a card, and their set has none", () => {
  const bad = (name: string, state: State, reason: string) => row(name, { owner: "s", state, reason });
  const troubles = troublesOf([
    row("s", { kind: "MachineSet", owner: "d", state: "Degraded" }), row("d", { kind: "MachineDeployment", state: "Degraded" }),
    bad("a", "Failed", "Quota"), bad("b", "Failed", "Quota"), bad("c", "Stuck", "Hook"), row("e"),
  ]);
  assert.deepEqual(troubles.map((t) => [t.row.name, t.more.map((r) => r.name)]), [["a", ["b"]], ["c", []]]);
});

test("a set in trouble of its own has a card", () => {
  const troubles = troublesOf([row("s", { kind: "MachineSet", state: "Failed" }), row("a", { owner: "s", state: "Failed", reason: "Quota" })]);
  assert.deepEqual(troubles.map((t) => t.row.name), ["a", "s"]);
});

test("changes add up to the fleet", () => {
  const none = { gaps: null, controllers: null, at: "" };
  let f = apply(emptyFleet, { ...none, whole: true, rows: [row("a"), row("b")] });
  f = apply(f, { ...none, rows: [row("a", { state: "Failed" }), row("c")], removed: ["b"] });
  assert.deepEqual([...f.rows.values()].map((r) => [r.name, r.state]), [["a", "Failed"], ["c", "Healthy"]]);
  f = apply(f, { ...none, whole: true });
  assert.equal(f.rows.size, 0);
});

test("ages are those of kubectl, and an unknown time has none", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  for (const [from, want] of [["2026-01-02T11:59:01Z", "59s"], ["2026-01-02T11:00:00Z", "60m"], ["2026-01-01T12:00:00Z", "24h"], ["2025-12-01T12:00:00Z", "32d"], ["0001-01-01T00:00:00Z", ""], ["", ""]] as const) {
    assert.equal(since(from, now), want, from);
  }
});

test("a time that is ahead has its distance, and an unknown time has none", () => {
  const now = Date.parse("2026-01-02T12:00:00Z");
  assert.match(until("2026-01-02T15:00:00Z", now), /\(in 3h\)$/);
  for (const at of [undefined, "", "0001-01-01T00:00:00Z"]) assert.equal(until(at, now), "", at);
});

test("a machine waits for the budget that its status names", () => {
  const waiting = row("a", { because: [{ message: "machine disruption budget few, which permits 1 disruption at a time" }] });
  assert.ok(waitsFor(waiting, "few"));
  for (const name of ["fe", "ew", "other"]) assert.ok(!waitsFor(waiting, name), name);
  assert.ok(!waitsFor(row("b"), "few"));
});

test("a budget's address leads to its page", () => {
  assert.deepEqual(parseRoute(budgetAddress("a")), { page: "object", api: "millwright.dev", kind: "MachineDisruptionBudget", namespace: "", name: "a", beside: "" });
});

const noon = Date.parse("2026-01-02T12:00:00Z");
const at = (second: number) => new Date(noon + second * 1000).toISOString();
const sample = (second: number, machines: number, more: Partial<Sample> = {}): Sample => ({ at: at(second), sets: [{ id: "s", machines, available: 0, deleting: 0 }], ...more });

test("samples that the server has left out stay on the page, and equal ones are one", () => {
  const created = sample(-60, 1, { created: true });
  const seen = merged([], [created, sample(0, 1), sample(1, 2), sample(2, 3)]);
  const got = merged(seen, [created, sample(0, 1), sample(2, 3), sample(5, 3), sample(6, 4)]);
  assert.deepEqual(got.map((s) => Date.parse(s.at) - noon), [-60000, 0, 1000, 2000, 6000]);
  assert.equal(merged(Array.from({ length: 5000 }, (_, i) => sample(i, i)), []).length, 2000);
});

test("a column has the sample that holds at its end", () => {
  const got = columns([sample(3, 1), sample(4, 2), sample(9, 3)], noon, noon + 10_000, 5);
  assert.deepEqual(got.map((s) => s?.sets?.[0]?.machines), [undefined, 2, 2, 2, 3]);
  assert.deepEqual(columns([], noon, noon + 10_000, 2), [undefined, undefined]);
});

const sets: RolledSet[] = [
  { id: "a", name: "a", created: at(-9000), wanted: 1 }, { id: "b", name: "b", created: at(-8000), wanted: 1 }, { id: "c", name: "c", created: at(-100), wanted: 1, current: true },
];

test("a column shows new before old, and machines in deletion last", () => {
  const of = (id: string, machines: number, available: number, deleting: number) => ({ id, machines, available, deleting });
  assert.deepEqual(segments({ at: at(0), sets: [of("a", 3, 3, 1), of("b", 2, 1, 0), of("c", 4, 1, 0)] }, sets), [
    { kind: "new", count: 1 }, { kind: "old", count: 3 }, { kind: "new-waits", count: 3 }, { kind: "old-waits", count: 1 }, { kind: "deleting", count: 1 },
  ]);
  assert.deepEqual(segments({ at: at(0), created: true, sets: [of("a", 3, 0, 0), of("c", 1, 0, 0)] }, sets), [{ kind: "new-created", count: 1 }, { kind: "old-created", count: 3 }]);
  assert.deepEqual(segments({ at: at(0), sets: null }, sets), []);
});

test("the rollout begins a little before its new set, and not before the first sample", () => {
  const first = sample(-9000, 1);
  assert.equal(begin("rollout", [first], sets, noon), noon - 130_000);
  assert.equal(begin("rollout", [sample(-105, 1)], sets, noon), noon - 105_000);
  assert.equal(begin("everything", [first], sets, noon), noon - 9_000_000);
  assert.equal(begin("10 minutes", [first], sets, noon), noon - 600_000);
  assert.equal(begin("rollout", [], [], noon), noon - 60_000);
});

test("a pasted token may have the scheme and spaces around it", () => {
  for (const pasted of ["a.b.c", " a.b.c\n", "Bearer a.b.c", "bearer  a.b.c "]) assert.equal(bearer(pasted), "a.b.c", pasted);
});

test("the search finds reasons, sentences, causes and advice", () => {
  const r = row("a", { state: "Failed", reason: "Quota", sentence: "Machine a has no instance", next: "raise the quota", because: [{ message: "vCPU limit exceeded" }] });
  for (const text of ["raise", "VCPU", "no instance", "quota limit"]) assert.ok(matches(r, text, noSet), text);
  assert.ok(!matches(r, "network", noSet));
});

const left = (name: string, minutes: number, more: Partial<Departed> = {}): Departed => ({ api: "machine.openshift.io", namespace: "blue", name, uid: "uid-" + name, owner: "MachineSet/mill", requested: new Date(noon - minutes * 60_000 - 1000).toISOString(), deleted: new Date(noon - minutes * 60_000).toISOString(), ...more });

test("deleted machines are those of the last day, the newest first, without those that exist", () => {
  const rows = new Map([["uid-lives", row("lives", { id: "uid-lives" })]]);
  let all = departedNow([], [left("b", 5), left("a", 1), left("lives", 2)], rows);
  assert.deepEqual(all.map((d) => d.name), ["a", "b"]);
  all = departedNow(all, [left("b", 5, { by: "jane" }), left("old", 60 * 25)], rows);
  assert.deepEqual(all.map((d) => [d.name, d.by]), [["a", undefined], ["b", "jane"], ["old", undefined]]);
  assert.deepEqual(recent(all, noon).map((d) => d.name), ["a", "b"]);
  assert.equal(departedNow([], Array.from({ length: 900 }, (_, i) => left("m" + i, i / 10)), rows).length, 500);
  assert.equal(departedNow(all, [], rows), all);
  const f = apply(apply(emptyFleet, { at: "", whole: true, rows: [], gaps: null, controllers: null, departed: [left("a", 1)] }), { at: "", gaps: null, controllers: null, departed: [left("b", 0)] });
  assert.deepEqual(f.departed.map((d) => d.name), ["b", "a"]);
});

test("the time of a deletion is the latest that is known", () => {
  assert.equal(departedAt(left("a", 1)), new Date(noon - 60_000).toISOString());
  const { deleted: _, ...asked } = left("a", 1);
  assert.equal(departedAt(asked), asked.requested);
  assert.equal(departedAt({ ...asked, requested: "" }), "");
});

test("who deleted a machine follows from its cause, if no client is named", () => {
  for (const [more, want] of [[{ by: "jane", cause: "Manual" }, "jane"], [{ cause: "Rollout" }, "MachineSet/mill"], [{ cause: "Manual" }, "a client, not its set"], [{ cause: "Remediation" }, "unknown"], [{}, "unknown"]] as [Partial<Departed>, string][]) {
    assert.equal(departedBy(left("a", 1, more)), want);
  }
});

test("the search finds deleted machines", () => {
  const d = left("mill-a-x7k2p", 1, { by: "jane", words: "jane requested the deletion", zone: "eu-1b", cause: "Manual" });
  for (const text of ["", "x7k2p", "jane", "manual mill", "zone:eu-1b", "set:mill", "state:gone", "requested"]) assert.ok(matchesDeparted(d, text), text);
  for (const text of ["other", "zone:eu-1a", "set:mil", "state:failed"]) assert.ok(!matchesDeparted(d, text), text);
});

test("a set has its own deleted machines", () => {
  const all = [left("a", 1), left("b", 1, { owner: "MachineSet/other" }), left("c", 1, { namespace: "red" }), left("d", 1, { owner: "" })];
  assert.deepEqual(departedOf(all, "machine.openshift.io", "blue", ["MachineSet/mill"]).map((d) => d.name), ["a"]);
  assert.deepEqual(departedOf(all, "machine.openshift.io", "blue", []), []);
});

test("pages lead back to the view of the fleet that was shown last", () => {
  assert.equal(backToFleet(), "#/");
  fleetShown("#/?q=a&by=zone");
  fleetShown("#/object/a/Machine/n/x");
  fleetShown("#/plan");
  assert.equal(backToFleet(), "#/?q=a&by=zone");
  fleetShown("");
  assert.equal(backToFleet(), "#/");
});

test("the windows of a budget have their ends and begins in its time zone", () => {
  const [ends, begins, ...more] = windows([
    { nodes: "1", allowed: 1, active: true, ends: "2026-01-02T16:00:00Z", zone: "Asia/Tokyo", schedule: "x" }, { nodes: "30%", allowed: 3, reasons: ["Rollout"], begins: "2026-01-05T08:00:00Z", zone: "Europe/Berlin" }, { nodes: "2", allowed: 2, active: true },
  ], noon);
  assert.match(ends!, /^1 until .*3.*01:00.* Asia\/Tokyo \(in 4h\)$/);
  assert.match(begins!, /^30% for Rollout from .*5.*09:00.* Europe\/Berlin \(in 2d\) on$/);
  assert.deepEqual(more, []);
  assert.match(until("2026-01-02T15:00:00Z", noon, "Nowhere/Known"), /\(in 3h\)$/);
});

test("a limit says when it applies", () => {
  assert.equal(applies({ nodes: "1", allowed: 1 }), "always");
  assert.equal(applies({ nodes: "0", allowed: 0, schedule: "0 0 * * sat for 48h, UTC", query: "up == 0" }), "0 0 * * sat for 48h, UTC, while Prometheus returns samples for up == 0");
});

test("an unfit number or field of a plan is named", () => {
  for (const ok of ["0", " 12 "]) assert.equal(numberProblem(ok), "", ok);
  for (const bad of ["", "-1", "1.5", "many", "99999999"]) assert.match(numberProblem(bad), /whole number/, bad);
  assert.equal(fieldProblem("spec.providerSpec.value.size"), "");
  for (const bad of ["", ".", "spec.", "a..b"]) assert.match(fieldProblem(bad), /must be a path/, bad);
});
