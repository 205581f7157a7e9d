// What a change would do: of a manifest, or of one object.

import { useState } from "preact/hooks";
import { post, type Fleet } from "./live";
import type { Plan, Planned, PlanRequest } from "./types";
import { backToFleet, fieldProblem, keyOf, nested, numberProblem, parseKey } from "./view";

export function PlanPage({ fleet, about }: { fleet: Fleet; about: string }) {
  const [state, set] = useState<{ waits?: boolean; error?: string; plan?: Plan }>({});
  const ask = (q: PlanRequest) => {
    set({ waits: true });
    post<Plan>("api/plan", q).then((plan) => set({ plan }), (e: Error) => set({ error: e.message }));
  };
  return (
    <>
      <p><a href={backToFleet()}>← fleet</a></p>
      <h2>Plan a change</h2>
      <p class="fine">Nothing is changed: the API server tries the change without storing it, and the decisions of the controllers are simulated.</p>
      <div class="forms">
        <OneObject fleet={fleet} about={about} ask={ask} />
        <Manifest ask={ask} />
      </div>
      {state.waits && <p role="status">Planning …</p>}
      {state.error && <p role="alert" class="answer failed">{state.error}</p>}
      <div aria-live="polite">{state.plan && <PlanBox plan={state.plan} />}</div>
    </>
  );
}

type Ask = (q: PlanRequest) => void;

const changes = ["number of machines", "field of the template", "JSON merge patch", "deletion"] as const;

function OneObject({ fleet, about, ask }: { fleet: Fleet; about: string; ask: Ask }) {
  const [key, setKey] = useState(about);
  const [change, setChange] = useState<(typeof changes)[number]>(changes[0]);
  const [field, setField] = useState("spec.providerSpec.value."), [value, setValue] = useState("");
  const [problem, setProblem] = useState("");
  const all = [...fleet.rows.values()].filter((r) => r.kind !== "MachineHealthCheck").map(keyOf).sort();
  const send = (e: Event) => {
    e.preventDefault();
    const object = parseKey(key);
    const problem = !object ? "Object: choose one of the list, or write kind/API/namespace/name." :
      change === "number of machines" ? numberProblem(value) : change === "field of the template" ? fieldProblem(field) : change === "JSON merge patch" && !value.trim() ? "Patch: must not be empty." : "";
    setProblem(problem);
    if (problem || !object) return;
    try {
      switch (change) {
        case "number of machines": return ask({ object, patch: nested("spec.replicas", value) });
        case "field of the template": return ask({ object, patch: nested("spec.template." + field, value) });
        case "JSON merge patch": return ask({ object, patch: JSON.parse(value) });
        case "deletion": return ask({ object, delete: true });
      }
    } catch (e) {
      setProblem("Patch: " + (e as Error).message);
    }
  };
  return (
    <form onSubmit={send} aria-labelledby="one">
      <h3 id="one">Of one object</h3>
      <label>Object <input list="objects" value={key} onInput={(e) => setKey(e.currentTarget.value)} placeholder="MachineSet/machine.openshift.io/blue/mill" /></label>
      <datalist id="objects">{all.slice(0, 500).map((k) => <option key={k} value={k} />)}</datalist>
      <label>Change <select value={change} onChange={(e) => { setChange(e.currentTarget.value as typeof change); setValue(""); }}>{changes.map((c) => <option key={c}>{c}</option>)}</select></label>
      {change === "field of the template" && <label>Field of spec.template <input value={field} onInput={(e) => setField(e.currentTarget.value)} /></label>}
      {change === "JSON merge patch" && <label>Patch <textarea rows={6} value={value} onInput={(e) => setValue(e.currentTarget.value)} placeholder={'{"spec":{"paused":true}}'} /></label>}
      {(change === "number of machines" || change === "field of the template") && (
        <label>{change === "number of machines" ? "Machines" : "Value"} <input value={value} inputMode={change === "number of machines" ? "numeric" : "text"} onInput={(e) => setValue(e.currentTarget.value)} /></label>
      )}
      {problem && <p role="alert" class="lost">{problem}</p>}
      <button type="submit">Plan the change</button>
    </form>
  );
}

function Manifest({ ask }: { ask: Ask }) {
  const [manifest, setManifest] = useState(""), [namespace, setNamespace] = useState(""), [problem, setProblem] = useState("");
  const send = (e: Event) => {
    e.preventDefault();
    setProblem(manifest.trim() ? "" : "Manifest: must not be empty.");
    if (manifest.trim()) ask({ manifest, ...(namespace ? { namespace } : {}) });
  };
  return (
    <form aria-labelledby="manifest" onSubmit={send}>
      <h3 id="manifest">Of a manifest</h3>
      <label>Manifest, as for kubectl apply <textarea rows={10} value={manifest} spellcheck={false} onInput={(e) => setManifest(e.currentTarget.value)} /></label>
      <label>Namespace of objects that name none <input value={namespace} onInput={(e) => setNamespace(e.currentTarget.value)} /></label>
      {problem && <p role="alert" class="lost">{problem}</p>}
      <button type="submit">Plan the manifest</button>
    </form>
  );
}

const verbs: Record<string, string> = { create: "is created", change: "is changed", delete: "is deleted", none: "does not change" };

export function PlanBox({ plan: p }: { plan: Plan }) {
  return (
    <section aria-label="plan" class="plan">
      <h3>{p.nothing ? "Nothing would change" : "What would happen"}</h3>
      {p.nothing && <p>The stored objects already have these values.</p>}
      <ul>{(p.changes ?? []).map((c) => (
        <li key={keyOf(c)}>{c.kind} {c.namespace ? c.namespace + "/" : ""}{c.name} {verbs[c.verb] ?? c.verb}
          {c.fields && <ul>{c.fields.map((f) => <li key={f.path}><code>{f.path}: {f.from} → {f.to}</code></li>)}</ul>}
          {c.effect && <p>{c.effect}</p>}
        </li>
      ))}</ul>
      {(p.plans ?? []).map((one) => <Steps key={keyOf(one)} plan={one} />)}
      <List title="Notes" list={p.notes} />
      <List title="Not known" list={p.unknown} />
    </section>
  );
}

const Steps = ({ plan: p }: { plan: Planned }) => (
  <section aria-label={p.kind + " " + p.name}>
    <h4>{p.title ?? `${p.kind} ${p.name}: ${p.created} created, ${p.deleted} deleted, ${p.rest} in the end`}</h4>
    <ul class="lines">{(p.lines ?? []).map((l, i) => <li key={i} class={"depth" + Math.min(l.depth, 8)}>{l.text}</li>)}</ul>
  </section>
);

const List = ({ title, list }: { title: string; list?: string[] }) =>
  list?.length ? <><h4>{title}</h4><ul>{list.map((t) => <li key={t}>{t}</li>)}</ul></> : null;
