// Whether a drain of a machine's node would finish now.

import { Next } from "./parts";
import type { Verdict } from "./types";

export function VerdictBox({ verdict: v }: { verdict: Verdict }) {
  const turns = !!v.blocks?.length && v.blocks.every((b) => !b.endless && b.allowed > 0);
  return (
    <section aria-label="drain verdict">
      <h3>Would a drain finish now?</h3>
      <p class={"answer " + (v.finishes ? "healthy" : v.blocks?.[0]?.endless ? "stuck" : "waiting")}><b>{v.finishes ? "Yes." : turns ? "Not at once." : "No."}</b> {v.sentence}{v.staying > 0 && ` ${v.staying} pods of DaemonSets and mirror pods may stay.`}</p>
      {v.blocks && (
        <table tabIndex={0}><caption>PodDisruptionBudgets in the way</caption>
          <thead><tr><th scope="col">Budget</th><th scope="col">Allowed now</th><th scope="col">Healthy</th><th scope="col">Pods that wait</th><th scope="col">Why, and what to do</th></tr></thead>
          <tbody>{v.blocks.map((b) => (
            <tr key={b.budget}><td>{b.budget}</td><td>{b.allowed}</td><td>{b.healthy} of {b.expected}, {b.desired} needed</td><td>{b.pods.slice(0, 5).join(", ")}{b.pods.length > 5 && ` and ${b.pods.length - 5} more`}</td><td>{b.why}<Next text={b.do} /></td></tr>
          ))}</tbody>
        </table>
      )}
      {v.notes && <ul>{v.notes.map((n) => <li key={n}>{n}</li>)}</ul>}
    </section>
  );
}
