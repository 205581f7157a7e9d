// The drain of a machine's node that a user has ordered, pod by pod.

import type { Drain } from "./types";
import { ago } from "./view";

export function DrainBox({ drain: d, now }: { drain: Drain; now: number }) {
  const pods = d.pods ?? [], left = pods.filter((p) => p.reason).length;
  return (
    <section aria-label="drain">
      <h3>Drain of node {d.node} <small>begun {ago(d.begun, now)}{d.over && `, over ${ago(d.over, now)}`}</small></h3>
      <p role="status" class={d.state === "Failed" ? "lost" : ""}><b>{d.state}</b>{d.message && `: ${d.message}`}</p>
      {pods.length > 0 && (
        <table tabIndex={0}><caption>{pods.length - left} of {pods.length} pods have left</caption>
          <thead><tr><th scope="col">Pod</th><th scope="col">State</th><th scope="col">Budget</th></tr></thead>
          <tbody>{pods.map((p) => (
            <tr key={p.namespace + "/" + p.name}><td>{p.namespace}/{p.name}</td><td>{p.reason ? [p.reason, p.detail, ago(p.since, now)].filter(Boolean).join(" · ") : "has left"}</td><td>{p.budget}</td></tr>
          ))}</tbody>
        </table>
      )}
    </section>
  );
}
