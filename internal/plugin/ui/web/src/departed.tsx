// Machines that were deleted: when, by which client and why.

import { useState } from "preact/hooks";
import { ObjectLink, short } from "./parts";
import type { Departed } from "./types";
import { ago, departedAt, departedBy, since } from "./view";

const mostShown = 20;

const unknown = "no event or record says why";

// DepartedList lists deleted machines, the newest first. It is folded unless it is open.
export function DepartedList({ list, all, now, open, title }: { list: Departed[]; all?: number; now: number; open?: boolean; title: string }) {
  const [more, setMore] = useState(false), [unfolded, setUnfolded] = useState<boolean | null>(null);
  const count = all !== undefined && all !== list.length ? `${list.length} of ${all}` : list.length;
  const shown = unfolded ?? !!open;
  return (
    <details class="departed" open={shown}>
      <summary onClick={(e) => { e.preventDefault(); setUnfolded(!shown); }}>{title} <span class="count" data-testid="departed">{count}</span></summary>
      {!list.length && <p class="fine">{all ? "No deleted machine matches the search." : "None is known. The machine controller records deletions, and an API server keeps events for a limited time."}</p>}
      {list.length > 0 && (
        <table tabIndex={0}>
          <thead><tr><th scope="col">Machine</th><th scope="col">Deleted</th><th scope="col">By</th><th scope="col">Why</th><th scope="col">Set</th><th scope="col">Zone, type</th><th scope="col">Lived</th></tr></thead>
          <tbody>{list.slice(0, more ? undefined : mostShown).map((d) => (
            <tr key={d.uid}>
              <td><DepartedLink d={d} /> <small>{d.namespace} · {short(d.api)}</small></td>
              <td title={clock(departedAt(d))}>{ago(departedAt(d), now)}</td>
              <td>{departedBy(d)}</td>
              <td>{d.words ?? unknown}{d.evidence && <small> · evidence is kept</small>}</td>
              <td>{d.owner && <OwnerLink d={d} />}</td>
              <td>{[d.zone, d.type].filter(Boolean).join(", ")}</td>
              <td>{d.created && departedAt(d) ? since(d.created, Date.parse(departedAt(d))) : ""}</td>
            </tr>
          ))}</tbody>
        </table>
      )}
      {list.length > mostShown && <button type="button" onClick={() => setMore(!more)}>{more ? "Show the newest" : `Show all ${list.length}`}</button>}
    </details>
  );
}

const clock = (at?: string) => (at && Date.parse(at) > 0 ? new Date(at).toLocaleString() : "");

const DepartedLink = ({ d }: { d: Departed }) => <ObjectLink o={{ api: d.api, kind: "Machine", namespace: d.namespace, name: d.name }} />;

function OwnerLink({ d }: { d: Departed }) {
  const [kind = "", name = ""] = (d.owner ?? "").split("/");
  return <ObjectLink o={{ api: d.api, kind, namespace: d.namespace, name }} />;
}

// DepartedFacts are the facts about one deleted machine.
export function DepartedFacts({ departed: d, now }: { departed: Departed; now: number }) {
  const time = (at?: string) => at && Date.parse(at) > 0 ? <time dateTime={at} title={clock(at)}>{ago(at, now)}</time> : undefined;
  const facts: [string, unknown][] = [
    ["Deleted by", departedBy(d)], ["Cause", d.cause], ["Known from", d.source],
    ["Created", time(d.created)], ["Node joined", time(d.joined)], ["Ready", time(d.ready)], ["Deletion requested", time(d.requested)],
    ["Instance deletion began", time(d.terminating)], ["Instance terminated", time(d.terminated)], ["Deleted", time(d.deleted)],
    ["Set", d.owner && <OwnerLink d={d} />], ["Node", d.node], ["Zone", d.zone], ["Type", d.type], ["Evidence", d.evidence],
  ];
  return (
    <section aria-label="deletion">
      <h3>Its deletion</h3>
      <dl class="facts">{facts.filter(([, v]) => v).map(([k, v]) => <div key={k}><dt>{k}</dt><dd>{v as string}</dd></div>)}</dl>
    </section>
  );
}
