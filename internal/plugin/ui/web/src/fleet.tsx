// The page of the fleet: what is wrong, the machines as a map, and a table of them.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Budgets } from "./budgets";
import { DepartedList } from "./departed";
import type { Fleet } from "./live";
import { AnswerBox, Causes, Gaps, Next, ObjectLink, short, StateMark } from "./parts";
import { severity, type Row, type State } from "./types";
import { dimensions, fleetAddress, grouped, matches, matchesDeparted, objectAddress, recent, since, troublesOf, worstFirst, type Dimension, type Group, type View } from "./view";

export function FleetPage({ fleet, view, now }: { fleet: Fleet; view: View; now: number }) {
  const setOf = useMemo(() => owners(fleet.rows), [fleet.rows]);
  const rows = useMemo(() => [...fleet.rows.values()], [fleet.rows]);
  const machines = useMemo(() => rows.filter((r) => r.kind === "Machine"), [rows]);
  const shown = useMemo(
    () => machines.filter((r) => matches(r, view.text, setOf) && (!view.states.length || view.states.includes(r.state))).sort(worstFirst),
    [machines, view, setOf],
  );
  const groups = useMemo(() => grouped(shown, view.by, setOf), [shown, view.by, setOf]);
  const everDeparted = useMemo(() => recent(fleet.departed, now), [fleet.departed, Math.floor(now / 60_000)]);
  const departed = useMemo(() => everDeparted.filter((d) => matchesDeparted(d, view.text)), [everDeparted, view.text]);
  if (!fleet.loaded) return <p role="status">Reading the fleet …</p>;
  return (
    <>
      <Wrong fleet={fleet} rows={rows} now={now} />
      <Tools view={view} machines={machines} shown={shown.length} departed={departed.length} />
      <Table rows={shown} setOf={setOf} now={now} />
      <FleetMap groups={groups} by={view.by} />
      <section aria-label="deleted machines"><DepartedList list={departed} all={everDeparted.length} now={now} open={!!view.text && departed.length > 0} title="Deleted in the last 24 hours" /></section>
      <Groups rows={rows} now={now} />
      <Budgets budgets={fleet.budgets} now={now} />
      <Gaps list={fleet.gaps} />
    </>
  );
}

// owners is a function that names the deployment or set of a machine.
function owners(rows: Map<string, Row>): (r: Row) => string {
  return (r) => {
    const set = rows.get(r.owner ?? "");
    return (rows.get(set?.owner ?? "") ?? set)?.name ?? "";
  };
}

const mostWrong = 4; // the table begins on the first screen

// nothingWrong is the sentence about a fleet in which no trouble is known.
function nothingWrong(objects: number, gaps: number): string {
  if (gaps === 0) return "Nothing: all objects are in order or on their way.";
  if (objects > 0) return "Nothing that is known, but some facts could not be read: see the list at the end.";
  return "No object was found, and some could not be read: see the list at the end. You may need another namespace, or the right to read machines.";
}

// Wrong is what is wrong now, the worst first.
function Wrong({ fleet, rows, now }: { fleet: Fleet; rows: Row[]; now: number }) {
  const [all, setAll] = useState(false);
  const troubles = useMemo(() => troublesOf(rows), [rows]);
  const total = troubles.length + fleet.controllers.length;
  return (
    <section aria-labelledby="wrong">
      <h2 id="wrong">Wrong now {total > 0 && <span class="count">{total}</span>}</h2>
      {total === 0 && <p class="fine">{nothingWrong(rows.length, fleet.gaps.length)}</p>}
      {fleet.controllers.map((a) => <AnswerBox key={a.name} a={a} now={now} />)}
      <ul class="wrong">
        {troubles.slice(0, all ? undefined : mostWrong).map(({ row: r, more }) => (
          <li key={r.id} class={"answer " + r.state.toLowerCase()}>
            <p><StateMark state={r.state} /> <ObjectLink o={r}>{r.kind} {r.name}</ObjectLink> <small>{r.namespace} · {short(r.api)}</small></p>
            <p class="sentence">{r.sentence}</p>
            <Causes list={r.because} now={now} />
            {r.next && <Next text={r.next} />}
            {more.length > 0 && <p><small>The same with {more.slice(0, 5).map((o) => <span key={o.id}><ObjectLink o={o} /> </span>)}{more.length > 5 && `and ${more.length - 5} more`}</small></p>}
          </li>
        ))}
      </ul>
      {troubles.length > mostWrong && <button type="button" onClick={() => setAll(!all)}>{all ? "Show the worst" : `Show all ${troubles.length}`}</button>}
    </section>
  );
}

function Tools({ view, machines, shown, departed }: { view: View; machines: Row[]; shown: number; departed: number }) {
  const [typed, setTyped] = useState<string | null>(null); // the field keeps its text while it has the focus: the address follows later
  const counts = new Map<State, number>();
  for (const r of machines) counts.set(r.state, (counts.get(r.state) ?? 0) + 1);
  const go = (v: Partial<View>) => location.replace(fleetAddress({ ...view, ...v }));
  const toggle = (s: State) => go({ states: view.states.includes(s) ? view.states.filter((x) => x !== s) : [...view.states, s] });
  return (
    <section class="tools" aria-label="search and filters">
      <h2>Machines <span class="count" data-testid="shown">{shown === machines.length ? shown : `${shown} of ${machines.length}`}</span></h2>
      <label>Search <input type="search" value={typed ?? view.text} placeholder="name, node, reason, advice, zone:b"
        onInput={(e) => { setTyped(e.currentTarget.value); go({ text: e.currentTarget.value }); }} onBlur={() => setTyped(null)} /></label>
      <label>By <select value={view.by} onChange={(e) => go({ by: e.currentTarget.value as Dimension })}>
        {dimensions.map((d) => <option key={d}>{d}</option>)}
      </select></label>
      <div class="states" role="group" aria-label="states">
        {severity.filter((s) => counts.has(s)).map((s) => (
          <button type="button" key={s} aria-pressed={view.states.includes(s)} onClick={() => toggle(s)}><StateMark state={s} /> {counts.get(s)}</button>
        ))}
      </div>
      {shown === 0 && machines.length > 0 && <p role="status">No machine matches the search and the chosen states. {view.text && departed > 0 ? `${departed} deleted machines match, see below.` : "The search finds words in the columns of the table, in reasons and in advice."}</p>}
    </section>
  );
}

const mostGroups = 40;

// FleetMap shows each machine as a square, in rows of groups.
function FleetMap({ groups, by }: { groups: Group[]; by: string }) {
  const [all, setAll] = useState(false);
  return (
    <section class="map" aria-label={"machines by " + by}>
      {groups.slice(0, all ? undefined : mostGroups).map((g) => (
        <div class="group" key={g.name}>
          <span class="name">{g.name || "(none)"} <small>{g.rows.length}</small></span>
          <Squares rows={g.rows} label={`${g.name || "none"}: ${summary(g.rows)}`} />
        </div>
      ))}
      {groups.length > mostGroups && <button type="button" onClick={() => setAll(!all)}>{all ? "Show fewer" : `Show all ${groups.length} groups`}</button>}
    </section>
  );
}

const summary = (rows: Row[]) => severity.map((s) => [rows.filter((r) => r.state === s).length, s] as const).filter(([n]) => n).map(([n, s]) => `${n} ${s}`).join(", ");

const side = 12, gap = 2;

// Squares are drawn on a canvas: a fleet may have ten thousand. Screen readers have the label, and the table.
function Squares({ rows, label }: { rows: Row[]; label: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const across = Math.max(1, Math.floor(width / (side + gap)));
  useEffect(() => {
    const box = canvas.current!.parentElement!;
    const seen = new ResizeObserver(() => setWidth(box.clientWidth));
    seen.observe(box);
    return () => seen.disconnect();
  }, []);
  useEffect(() => {
    if (width) draw(canvas.current!, rows, across);
  }, [rows, width]);
  const at = (e: MouseEvent) => {
    const r = canvas.current!.getBoundingClientRect();
    const x = Math.floor((e.clientX - r.left) / (side + gap)), y = Math.floor((e.clientY - r.top) / (side + gap));
    return x < across ? rows[y * across + x] : undefined;
  };
  return (
    <div class="squares">
      <canvas ref={canvas} role="img" aria-label={label}
        onMouseMove={(e) => { const r = at(e); canvas.current!.title = r ? `${r.name}: ${r.state} ${r.reason ?? ""}` : ""; }}
        onClick={(e) => { const r = at(e); if (r) location.hash = objectAddress(r); }} />
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, rows: Row[], across: number) {
  const scale = window.devicePixelRatio || 1, cell = side + gap;
  const width = Math.min(across, rows.length) * cell, height = Math.ceil(rows.length / across) * cell;
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const c = canvas.getContext("2d")!, style = getComputedStyle(canvas);
  c.scale(scale, scale);
  for (let i = 0; i < rows.length; i++) {
    const x = (i % across) * cell, y = Math.floor(i / across) * cell, state = rows[i]!.state.toLowerCase();
    c.fillStyle = style.getPropertyValue("--" + state) || "gray";
    c.fillRect(x, y, side, side);
    if (state !== "healthy") { // a mark tells it apart without colour
      c.fillStyle = style.getPropertyValue("--page");
      c.fillRect(x + side / 2 - 2, y + side / 2 - 2, 4, 4);
    }
  }
}

const rowHeight = 34, extra = 8;

// Table has all machines, of which only those in view are in the document.
function Table({ rows, setOf, now }: { rows: Row[]; setOf: (r: Row) => string; now: number }) {
  const [top, setTop] = useState(0);
  const height = Math.min(rows.length, 14) * rowHeight;
  const first = Math.max(0, Math.floor(top / rowHeight) - extra), last = Math.min(rows.length, Math.ceil((top + height) / rowHeight) + extra);
  return (
    <section class="table" role="table" aria-label="machines" aria-rowcount={rows.length + 1}>
      <div class="row head" role="row">
        {["State", "Machine", "Set", "Zone", "Type", "Phase", "Node", "Age"].map((h) => <span role="columnheader" key={h}>{h}</span>)}
      </div>
      <div class="rows" role="rowgroup" tabIndex={0} style={{ height: height + "px" }} onScroll={(e) => setTop(e.currentTarget.scrollTop)}>
        <div style={{ height: rows.length * rowHeight + "px", paddingTop: first * rowHeight + "px" }}>
          {rows.slice(first, last).map((r, i) => (
            <div class="row" role="row" key={r.id} aria-rowindex={first + i + 2}>
              <span role="cell"><StateMark state={r.state} /></span>
              <span role="cell"><ObjectLink o={r} /></span>
              <span role="cell">{setOf(r)}</span><span role="cell">{r.zone}</span><span role="cell">{r.type}</span>
              <span role="cell">{r.phase}</span><span role="cell">{r.node}</span><span role="cell">{since(r.created, now)}</span>
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}

// Groups are the sets, deployments, health checks and classes.
function Groups({ rows, now }: { rows: Row[]; now: number }) {
  const ids = new Set(rows.map((r) => r.id));
  const top = rows.filter((r) => r.kind !== "Machine" && !ids.has(r.owner ?? "")).sort(worstFirst);
  if (!top.length) return null;
  return (
    <section aria-labelledby="groups">
      <h2 id="groups">Sets, deployments, health checks, classes</h2>
      <ul class="groups">
        {top.map((r) => (
          <li key={r.id}>
            <StateMark state={r.state} /> <ObjectLink o={r} /> <small>{r.kind} · {r.namespace} · {short(r.api)} · {since(r.created, now)}</small>
            {r.counts && <Bar counts={r.counts} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

// Bar shows how many of the wanted machines exist, are ready and are available.
export function Bar({ counts: c }: { counts: NonNullable<Row["counts"]> }) {
  const most = Math.max(c.wanted, c.have, 1), text = `${c.available} of ${c.wanted} available, ${c.ready} ready, ${c.updated} updated, ${c.have} exist`;
  const part = (n: number) => ({ width: (100 * n) / most + "%" });
  return (
    <span class="bar" role="img" aria-label={text} title={text}>
      <span class="have" style={part(c.have)} /><span class="available" style={part(c.available)} />
      <span class="wanted" style={{ left: (100 * c.wanted) / most + "%" }} />
      <small>{c.available}/{c.wanted}</small>
    </span>
  );
}
