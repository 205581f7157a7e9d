// Machine disruption budgets: what stops all disruption, what each budget permits now, and the permits of machines.

import { ObjectLink, StateMark } from "./parts";
import type { BudgetPage, BudgetRow, Limit, Row, Selecting } from "./types";
import { ago, applies, budgetAddress, emergencyStop, since, until, waitsFor, windows } from "./view";

// Banner says on each view what stops disruption until a user changes it.
export function Banner({ budgets, now }: { budgets: BudgetRow[]; now: number }) {
  const stops = budgets.filter((b) => b.stops);
  if (!stops.length) return null;
  return (
    <div class="banner" role="status">{stops.map((b) => (
      <p key={b.id}><b>{b.state === "Failed" ? "No disruption begins" : b.selector ? `Disruption of machines with ${b.selector} is stopped` : "All disruption is stopped"}</b> by <ObjectLink o={b} />
        {b.since && `, since ${ago(b.since, now)}`}{b.message && `: ${b.message}`}{b.state === "Failed" && `, which ${b.sentence}`}</p>
    ))}</div>
  );
}

const mostBudgets = 20, mostWaiting = 50;

// Budgets are those of the fleet.
export function Budgets({ budgets, now }: { budgets: BudgetRow[]; now: number }) {
  return (
    <section aria-labelledby="budgets">
      <h2 id="budgets">Disruption budgets {budgets.length > 0 && <span class="count">{budgets.length}</span>}</h2>
      {!budgets.length && <p class="fine">None: only rollouts, health checks and sets limit disruptions.</p>}
      <ul class="groups">{budgets.slice(0, mostBudgets).map((b) => (
        <li key={b.id}><StateMark state={b.state} /> <ObjectLink o={b} /> {b.sentence} <small>{[b.selector || "all machines", ...windows(b.limits, now), b.message].filter(Boolean).join(" · ")}</small></li>
      ))}</ul>
      {budgets.length > mostBudgets && <p>and {budgets.length - mostBudgets} more</p>}
      <Stop budgets={budgets} now={now} />
    </section>
  );
}

// Stop says whether an emergency stop is in force.
function Stop({ budgets, now }: { budgets: BudgetRow[]; now: number }) {
  const stop = budgets.find((b) => b.name === emergencyStop);
  return (
    <p>Emergency stop: <b>{stop?.stops ? "in force" : "not in force"}</b>{stop?.stops && stop.since && ` since ${ago(stop.since, now)}`} · <a href={budgetAddress(emergencyStop)}>{stop ? "how to end it" : "how to stop all disruption"}</a></p>
  );
}

export function BudgetBox({ budget: b, rows, now }: { budget: BudgetPage; rows: Iterable<Row>; now: number }) {
  const waiting = [...rows].filter((r) => waitsFor(r, b.name));
  return (
    <section aria-label="budget">
      <dl class="facts">
        <div><dt>Machines</dt><dd>{b.machines} with a node{b.selector ? "" : ", of all sets and APIs"}</dd></div>
        {b.selector && <div><dt>Selector</dt><dd>{b.selector}</dd></div>}
        <div><dt>Permits in use</dt><dd>{b.inUse}</dd></div>
      </dl>
      {b.limits && b.limits.length > 0 && (
        <table tabIndex={0}><caption>Limits</caption>
          <thead><tr><th scope="col">Limit</th><th scope="col">Machines</th><th scope="col">Causes</th><th scope="col">Applies</th><th scope="col">Now</th></tr></thead>
          <tbody>{b.limits.map((l, i) => (
            <tr key={i}><td>{l.nodes}</td><td>{l.allowed}</td><td>{l.reasons?.join(", ") ?? "all but Interruption"}</td><td>{applies(l)}</td><td>{state(l, now)}</td></tr>
          ))}</tbody>
        </table>
      )}
      <table tabIndex={0}><caption>Permits for each cause</caption>
        <thead><tr><th scope="col">Cause</th><th scope="col">Allowed now</th><th scope="col">In use</th></tr></thead>
        <tbody>{b.causes.map((c) => <tr key={c.reason}><td>{c.reason}</td><td>{c.allowed ?? "any number"}</td><td>{c.inUse}</td></tr>)}</tbody>
      </table>
      {b.permits.length > 0 && (
        <table tabIndex={0}><caption>Machines with a permit</caption>
          <thead><tr><th scope="col">Machine</th><th scope="col">Cause</th><th scope="col">Since</th></tr></thead>
          <tbody>{b.permits.map((p) => (
            <tr key={p.namespace + "/" + p.name}><td><ObjectLink o={p}>{p.namespace}/{p.name}</ObjectLink></td><td>{p.reason ?? "unknown"}</td><td>{ago(p.since, now)}</td></tr>
          ))}</tbody>
        </table>
      )}
      {waiting.length > 0 && (
        <><h4>Machines that wait for it <span class="count">{waiting.length}</span></h4>
          <ul class="groups">{waiting.slice(0, mostWaiting).map((r) => <li key={r.id}><StateMark state={r.state} /> <ObjectLink o={r} /> <small>{[r.namespace, r.deleted && `in deletion for ${since(r.deleted, now)}`].filter(Boolean).join(" · ")}</small></li>)}</ul></>
      )}
      {waiting.length > mostWaiting && <p>and {waiting.length - mostWaiting} more</p>}
      {b.cut ? <p>{b.cut} more machines have a permit.</p> : null}
    </section>
  );
}

const state = (l: Limit, now: number): string =>
  l.active && l.unanswered ? "applies, because the answer of Prometheus is unknown: " + l.unanswered : l.active ? "applies" + (l.ends ? " until " + until(l.ends, now, l.zone) : "") : l.begins ? "from " + until(l.begins, now, l.zone) + " on" : "does not apply";

// SelectingBox are the budgets that select a machine, and its permits.
export function SelectingBox({ budgets, now }: { budgets: Selecting[]; now: number }) {
  return (
    <section aria-label="machine disruption budgets">
      <h3>Disruption budgets of this machine</h3>
      <ul class="groups">{budgets.map((b) => (
        <li key={b.id}><StateMark state={b.state} /> <ObjectLink o={b} /> {b.sentence}
          {b.holds && <> · <b>this machine has a permit</b> for {b.reason ?? "an unknown cause"}, since {ago(b.held, now)}</>}
          {windows(b.limits, now).length > 0 && <small> · {windows(b.limits, now).join(" · ")}</small>}
        </li>
      ))}</ul>
    </section>
  );
}
