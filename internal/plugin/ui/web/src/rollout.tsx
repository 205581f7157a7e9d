// The rollout of a deployment: its sets as bars over time, its bounds, what holds it up, and its revisions.

import { useEffect, useMemo, useState } from "preact/hooks";
import { AnswerBox, Command, ObjectLink } from "./parts";
import type { Bounds, RolledSet, RolloutPage, Sample } from "./types";
import { ago, begin, columns, merged, segments, since, spans, type Segment, type Span } from "./view";

export function RolloutBox({ rollout: r, now }: { rollout: RolloutPage; now: number }) {
  const [samples, setSamples] = useState<Sample[]>([]);
  useEffect(() => setSamples((seen) => merged(seen, r.samples ?? [])), [r]);
  const sets = r.sets ?? [];
  return (
    <section aria-label="rollout">
      <h3>Rollout</h3>
      <p class={r.problem ? "lost" : ""}>{r.status}</p>
      <dl class="facts">
        <div><dt>Strategy</dt><dd>{r.strategy}{r.paused ? ", paused" : ""}</dd></div>
        <div><dt>Wanted</dt><dd>{r.wanted}</dd></div>
        {r.bounds && <div><dt>maxSurge {r.bounds.surge}</dt><dd>at most {r.bounds.most} machines{r.bounds.deleting ? "" : ", without those in deletion"}</dd></div>}
        {r.bounds && <div><dt>maxUnavailable {r.bounds.unavailable}</dt><dd>at least {r.bounds.least} available</dd></div>}
      </dl>
      <Chart samples={samples} sets={sets} bounds={r.bounds} wanted={r.wanted} now={now} />
      {r.holders && r.holders.length > 0 && (
        <>
          <h4>What holds it up</h4>
          {r.holders.map((a) => <div key={a.name} class="holder"><p><ObjectLink o={a}>{a.kind} {a.name}</ObjectLink></p><AnswerBox a={a} now={now} /></div>)}
        </>
      )}
      <Revisions rollout={r} />
    </section>
  );
}

const height = 200, top = 24, many = 60;

const words: Record<Segment["kind"], string> = {
  new: "new, available", old: "old, available", "new-waits": "new, not available", "old-waits": "old, not available",
  "new-created": "new, by creation time", "old-created": "old, by creation time", deleting: "in deletion",
};

function Chart({ samples, sets, bounds, wanted, now }: { samples: Sample[]; sets: RolledSet[]; bounds?: Bounds; wanted: number; now: number }) {
  const [span, setSpan] = useState<Span>("rollout");
  const end = Math.floor(now / 1000) * 1000, start = begin(span, samples, sets, end);
  const bars = useMemo(() => columns(samples, start, end, many).map((s) => (s ? segments(s, sets) : [])), [samples, sets, start, end]);
  if (!samples.length) return null;
  const total = (all: Segment[]) => all.reduce((n, s) => n + s.count, 0);
  const most = Math.max(1, wanted, bounds?.most ?? 0, ...bars.map(total));
  const y = (n: number) => height - ((height - top) * n) / most;
  const seen = new Set(bars.flatMap((b) => b.map((s) => s.kind)));
  const last = bars[bars.length - 1]!.map((s) => `${s.count} ${words[s.kind]}`).join("; ") || "no machines";
  return (
    <figure class="chart">
      <label>Time <select value={span} onChange={(e) => setSpan(e.currentTarget.value as Span)}>{spans.map((s) => <option key={s}>{s}</option>)}</select></label>
      <svg role="img" aria-label={`Machines of the sets over time. Now: ${last}.`} width="100%" height={height + 2}>
        <defs>
          {(["new", "old"] as const).map((of) => (
            <pattern key={of} id={"waits-" + of} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect width="6" height="6" class="blank" /><rect width="3" height="6" class={of} />
            </pattern>
          ))}
        </defs>
        {bars.map((segs, i) => {
          let below = 0;
          return segs.map((s) => {
            below += s.count;
            return <rect key={i + s.kind} class={s.kind} x={(100 * i) / many + "%"} width={100 / many + "%"} y={y(below)} height={y(below - s.count) - y(below)} />;
          });
        })}
        {bounds && <Line y={y(bounds.most)} text={`at most ${bounds.most}`} above />}
        {bounds && bounds.least > 0 && <Line y={y(bounds.least)} text={`at least ${bounds.least} available`} />}
        <line class="axis" x1="0" x2="100%" y1={height} y2={height} />
      </svg>
      <p class="times"><span>{since(new Date(start).toISOString(), end)} ago</span><span>now</span></p>
      <ul class="legend">{(Object.keys(words) as Segment["kind"][]).filter((k) => seen.has(k)).map((k) => (
        <li key={k}><svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" class={k} /></svg> {words[k]}</li>
      ))}</ul>
      <Numbers samples={samples} sets={sets} now={now} />
    </figure>
  );
}

const Line = ({ y, text, above }: { y: number; text: string; above?: boolean }) => (
  <>
    <line class="bound" x1="0" x2="100%" y1={y} y2={y} />
    <text class="bound" x="4" y={above ? y - 5 : y + 14}>{text}</text>
  </>
);

const mostNumbers = 30;

// Numbers are the same as a table, the newest first.
function Numbers({ samples, sets, now }: { samples: Sample[]; sets: RolledSet[]; now: number }) {
  return (
    <details><summary>Numbers</summary>
      <table tabIndex={0}><caption>machines (available) of each set</caption>
        <thead><tr><th scope="col">When</th>{sets.map((s) => <th scope="col" key={s.id}>{s.name}{s.current ? " (new)" : ""}</th>)}</tr></thead>
        <tbody>{samples.slice(-mostNumbers).reverse().map((s) => (
          <tr key={s.at}><td>{ago(s.at, now)}</td>{sets.map((x) => {
            const n = s.sets?.find((o) => o.id === x.id);
            return <td key={x.id}>{n ? (s.created ? `${n.machines} (unknown)` : `${n.machines} (${n.available})${n.deleting ? `, ${n.deleting} in deletion` : ""}`) : ""}</td>;
          })}</tr>
        ))}</tbody>
      </table>
    </details>
  );
}

function Revisions({ rollout: r }: { rollout: RolloutPage }) {
  if (!r.revisions?.length) return null;
  return (
    <table tabIndex={0}><caption>Revisions, the newest first</caption>
      <thead><tr><th scope="col">Revision</th><th scope="col">Set</th><th scope="col">Machines</th><th scope="col">Reason</th><th scope="col">To return to it</th></tr></thead>
      <tbody>{r.revisions.map((v) => (
        <tr key={v.machineSet}><td>{v.revision}{v.present ? " (present)" : ""}</td><td>{v.machineSet}</td><td>{v.machines}</td><td>{v.changeCause}</td>
          <td>{v.undo ? <Command text={v.undo} /> : v.present ? "" : v.refused}</td></tr>
      ))}</tbody>
    </table>
  );
}
