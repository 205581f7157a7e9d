// Tests of the page's functions, run by node: tools/ui bundles them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { apply, emptyFleet } from "./live";
import type { Row, State } from "./types";
import { fleetAddress, grouped, matches, objectAddress, parseRoute, since, troublesOf } from "./view";

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
