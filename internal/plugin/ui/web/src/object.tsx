// The page of one object: why it is as it is, and of a machine its life, its node and its pods.

import { useRef } from "preact/hooks";
import { usePage, type Fleet } from "./live";
import { Actions } from "./actions";
import { BudgetBox, SelectingBox } from "./budgets";
import { CheckBox } from "./check";
import { DepartedFacts, DepartedList } from "./departed";
import { DrainBox } from "./drain";
import { InstanceBox } from "./instance";
import { RolloutBox } from "./rollout";
import { AnswerBox, Causes, Command, ObjectLink, short, StateMark } from "./parts";
import { Bar } from "./fleet";
import { VerdictBox } from "./verdict";
import type { Branch, Departed, Happened, NodePage, Row, Subject } from "./types";
import { ago, backToFleet, departedOf, objectAddress, planAddress, recent, since } from "./view";

export function ObjectPage({ subject: s, fleet, now, beside }: { subject: Subject; fleet: Fleet; now: number; beside: string }) {
  const others = [...fleet.rows.values()].filter((r) => r.kind === "Machine" && r.name !== s.name);
  const other = others.find((r) => key(r) === beside);
  return (
    <>
      <p><a href={backToFleet()}>← fleet</a></p>
      {s.kind === "Machine" && others.length > 0 && (
        <label>Show beside <input list="others" value={beside} onChange={(e) => (location.hash = objectAddress(s, e.currentTarget.value))} /></label>
      )}
      <datalist id="others">{others.slice(0, 500).map((r) => <option key={r.id} value={key(r)} />)}</datalist>
      <div class={other ? "two" : ""}>
        <One key={s.kind + key(s)} subject={s} fleet={fleet} now={now} />
        {other && <One subject={other} fleet={fleet} now={now} />}
      </div>
    </>
  );
}

const key = (s: Subject) => [s.api, s.namespace, s.name].join("/");

// planned are the kinds whose changes can be planned.
const planned = ["Machine", "MachineSet", "MachineDeployment", "MachineClass"];

function One({ subject: s, fleet, now }: { subject: Subject; fleet: Fleet; now: number }) {
  const { page, live } = usePage(s);
  const acts = useRef(false); // a deleted object offers no actions, and the page still says what was done
  if (page?.actions) acts.current = true;
  const row = [...fleet.rows.values()].find((r) => r.kind === s.kind && key(r) === key(s));
  const departed = s.kind === "MachineSet" || s.kind === "MachineDeployment" ? departedBelow(s, row, fleet, now) : undefined;
  return (
    <article>
      <h2>{s.kind} {s.name} <small>{[s.namespace, short(s.api)].filter(Boolean).join(" · ")}</small></h2>
      {!live && <p role="status" class="lost">No connection to the page's server; what is shown may be old.</p>}
      {!page && <p role="status">Reading …</p>}
      {page?.error && <p role="alert">{page.error}</p>}
      {page && !page.error && (
        <>
          <AnswerBox a={page.answer} now={now} />
          {acts.current && <Actions offers={page.actions ?? []} subject={s} />}
          {page.drain && <DrainBox drain={page.drain} now={now} />}
          {page.budget && <BudgetBox budget={page.budget} rows={fleet.rows.values()} now={now} />}
          {row && <Facts row={row} fleet={fleet} now={now} />}
          {page.departed && <DepartedFacts departed={page.departed} now={now} />}
          {page.rollout && <RolloutBox rollout={page.rollout} now={now} />}
          {page.check && <CheckBox check={page.check} now={now} />}
          {page.history && <Life events={page.history.events ?? []} now={now} />}
          {page.history?.instance && <InstanceBox instance={page.history.instance} now={now} />}
          {page.budgets && <SelectingBox budgets={page.budgets} now={now} />}
          {page.verdict && <VerdictBox verdict={page.verdict} />}
          {page.node && <NodeBox node={page.node} now={now} />}
          {page.answer.tree?.parts && <Tree branch={page.answer.tree} fleet={fleet} now={now} />}
          {departed && (departed.length > 0 || !page.answer.tree?.parts) && <DepartedList list={departed} now={now} title="Its machines that were deleted in the last 24 hours" />}
          {page.yaml && <details><summary>YAML</summary><pre tabIndex={0}>{page.yaml}</pre></details>}
          {planned.includes(s.kind) && <p><a href={planAddress(s)}>Plan a change of it</a></p>}
          {page.history?.deleted && <p><Command text={`kubectl machine history machines.${s.api}/${s.name} -n ${s.namespace}`} /></p>}
          {s.namespace && <p><Command text={`kubectl machine why ${s.kind.toLowerCase()}s.${s.api}/${s.name} -n ${s.namespace}`} /></p>}
        </>
      )}
    </article>
  );
}

// departedBelow are the deleted machines of a set, or of the sets of a deployment.
function departedBelow(s: Subject, row: Row | undefined, fleet: Fleet, now: number): Departed[] {
  const owners = s.kind === "MachineSet" ? [`MachineSet/${s.name}`] : [...fleet.rows.values()].filter((r) => row && r.owner === row.id).map((r) => `${r.kind}/${r.name}`);
  return departedOf(recent(fleet.departed, now), s.api ?? "", s.namespace ?? "", owners);
}

function Facts({ row, fleet, now }: { row: Row; fleet: Fleet; now: number }) {
  const owner = fleet.rows.get(row.owner ?? "");
  const facts: [string, unknown][] = [
    ["Phase", row.phase], ["Zone", row.zone], ["Type", row.type], ["Provider", row.provider], ["Age", since(row.created, now)],
    ["In deletion", row.deleted && "for " + since(row.deleted, now)],
    ["Owner", owner && <ObjectLink o={owner}>{owner.kind} {owner.name}</ObjectLink>],
  ];
  return (
    <dl class="facts">
      {facts.filter(([, v]) => v).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v as string}</dd></div>)}
      {row.counts && <div><dt>Machines</dt><dd><Bar counts={row.counts} /></dd></div>}
    </dl>
  );
}

// Life is the machine's history, oldest first, with the time since its first event.
function Life({ events, now }: { events: Happened[]; now: number }) {
  if (!events.length) return null;
  const first = Date.parse(events[0]!.at);
  return (
    <section aria-label="life">
      <h3>Life</h3>
      <ol class="life">
        {events.map((e, i) => (
          <li key={i}>
            <time dateTime={e.at} title={`${new Date(e.at).toLocaleString()}, ${ago(e.at, now)}`}>+{since(events[0]!.at, Math.max(first, Date.parse(e.at)))}</time>
            <div><b>{e.what}</b>{e.count && e.count > 1 ? ` ×${e.count}` : ""} {e.by && <small>{e.by}</small>}
              {e.message && <p>{e.message}</p>}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function NodeBox({ node: n, now }: { node: NodePage; now: number }) {
  const pods = n.pods ?? [];
  return (
    <section aria-label="node">
      <h3>Node {n.name} <small>{n.kubelet} · {since(n.created, now)}{n.unschedulable ? " · cordoned" : ""}</small></h3>
      <ul class="conditions">
        {(n.conditions ?? []).map((c) => <li key={c.type}><b>{c.type}</b> {c.status} <small>{ago(c.since, now)} {c.message}</small></li>)}
      </ul>
      {pods.length > 0 && (
        <table><caption>{pods.length} pods</caption>
          <thead><tr><th scope="col">Pod</th><th scope="col">Phase</th><th scope="col">Owner</th><th scope="col">Disruption budget</th></tr></thead>
          <tbody>{pods.map((p) => (
            <tr key={p.namespace + "/" + p.name}><td>{p.namespace}/{p.name}</td><td>{p.phase}</td><td>{p.owner}</td>
              <td>{p.budget}{p.blocked ? " allows no eviction now" : ""}</td></tr>
          ))}</tbody>
        </table>
      )}
    </section>
  );
}

// Tree has the objects that a set or deployment created: sets as bars, with the problems of each.
function Tree({ branch, fleet, now }: { branch: Branch; fleet: Fleet; now: number }) {
  const rows = new Map([...fleet.rows.values()].map((r) => [r.kind + key(r), r]));
  const one = (b: Branch) => {
    const row = rows.get(b.kind + key(b));
    return (
      <li key={b.kind + b.name}>
        <StateMark state={b.state} /> <ObjectLink o={b}>{b.kind} {b.name}</ObjectLink> {row?.counts && <Bar counts={row.counts} />}
        <Causes list={b.because} now={now} />
        {b.parts && <ul>{b.parts.map(one)}</ul>}
      </li>
    );
  };
  return <section aria-label="created objects"><h3>Created objects</h3><ul class="tree">{branch.parts?.map(one)}</ul></section>;
}
