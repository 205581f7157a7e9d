// A health check: the machines that it selects, its budget and its breaker, and what would be remediated now.

import { ObjectLink } from "./parts";
import type { CheckedMachine, CheckPage } from "./types";
import { ago, since } from "./view";

export function CheckBox({ check: c, now }: { check: CheckPage; now: number }) {
  const b = c.breaker, ill = c.expected - c.healthy + (c.missing ?? 0);
  return (
    <section aria-label="health check">
      <h3>What it would remediate now</h3>
      <p class={c.allowed ? "" : "lost"}>{c.sentence}</p>
      {c.doubts?.map((d) => <p key={d}>Verdicts wait: {d}</p>)}
      <dl class="facts">
        <div><dt>Machines</dt><dd><Budget ill={ill} max={c.max} all={c.expected + (c.missing ?? 0)} /></dd></div>
        <div><dt>maxUnhealthy</dt><dd>{c.maxUnhealthy ? `${c.maxUnhealthy}: ${c.max} machines` : "no limit"}{c.allowed && c.maxUnhealthy ? `, ${c.remaining} more` : ""}{c.allowed ? "" : ", exceeded: nothing is remediated"}</dd></div>
        <div><dt>Remediation</dt><dd>{c.remediation}</dd></div>
        <div><dt>Storm breaker</dt><dd>{b.mode}{b.mode === "off" ? "" : `: at most ${b.rate} remediations within an hour; a storm from ${b.stormShare}% of a group; ${b.cooldown} of rest after it`}</dd></div>
      </dl>
      {b.storms && <ul>{b.storms.map((s) => <li key={s}>{s}</li>)}</ul>}
      {c.machines?.length ? <Machines list={c.machines} now={now} /> : <p class="fine">All machines are healthy: there is nothing to remediate.</p>}
      {c.cut ? <p>{c.cut} more machines are not healthy.</p> : null}
      {c.recent && <details><summary>{c.recent.length === 1 ? "1 recent remediation" : c.recent.length + " recent remediations"}</summary><ul>{c.recent.map((r) => <li key={r.machine + r.at}>{r.machine} <small>{ago(r.at, now)}</small></li>)}</ul></details>}
      <p class="fine">Decided from the stored objects. The controller may wait longer: it also knows how long it has observed each machine, and how well it is connected.</p>
    </section>
  );
}

// Budget shows how many machines are unhealthy, and how many may be.
function Budget({ ill, max, all }: { ill: number; max: number; all: number }) {
  const most = Math.max(all, 1), text = `${ill} of ${all} unhealthy, ${max} allowed`;
  return (
    <span class="bar budget" role="img" aria-label={text} title={text}>
      <span class="ill" style={{ width: (100 * ill) / most + "%" }} /><span class="wanted" style={{ left: (100 * Math.min(max, most)) / most + "%" }} />
      <small>{ill}/{all}</small>
    </span>
  );
}

function Machines({ list, now }: { list: CheckedMachine[]; now: number }) {
  return (
    <table><caption>machines that are not healthy</caption>
      <thead><tr><th scope="col">Machine</th><th scope="col">Verdict</th><th scope="col">Now</th></tr></thead>
      <tbody>{list.map((m) => (
        <tr key={m.name}><td><ObjectLink o={m} /></td><td>{m.state}: {m.message}</td><td>{done(m, now)}{m.hold && m.act === "Do" ? ` (an enforcing breaker would not: ${m.hold})` : ""}</td></tr>
      ))}</tbody>
    </table>
  );
}

function done(m: CheckedMachine, now: number): string {
  switch (m.act) {
    case "Do": return "would be remediated: " + m.why;
    case undefined: return m.due ? `nothing; judged again in ${since(new Date(now).toISOString(), Date.parse(m.due))}` : "nothing";
  }
  return "left alone: " + m.why;
}
