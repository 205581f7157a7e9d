// A machine's instance as stored objects show it. Nothing here is an answer of the infrastructure now.

import type { Fact, Instance } from "./types";
import { ago, since } from "./view";

export function InstanceBox({ instance: i, now }: { instance: Instance; now: number }) {
  const r = i.report, facts = i.facts ?? [], said = i.said ?? [];
  return (
    <section aria-label="instance">
      <h3>Instance</h3>
      {facts.length + said.length > 0 && (
        <>
          <p class="fine">As the machine's object shows it{i.at && <>, unchanged for <time dateTime={i.at}>{since(i.at, now)}</time></>}. The infrastructure may differ now.</p>
          <Facts list={facts} />
          {said.length > 0 && <ul class="conditions">{said.map((s) => (
            <li key={s.about}><b>{s.about}</b> {s.status} <small>{[s.reason, ago(s.since, now)].filter(Boolean).join(" · ")}</small> {s.message}</li>
          ))}</ul>}
        </>
      )}
      {r && (
        <>
          <h4>In the evidence, reported by the infrastructure <time dateTime={r.taken}>{ago(r.taken, now)}</time></h4>
          <Facts list={r.facts ?? []} />
          <p class="fine">Kept in {r.where}.</p>
          {r.console && <details open><summary>The end of its console</summary><pre tabIndex={0} aria-label="console">{r.console}</pre></details>}
        </>
      )}
    </section>
  );
}

const Facts = ({ list }: { list: Fact[] }) => (
  <dl class="facts">{list.map((f, i) => <div key={f.name + i} title={f.where}><dt>{f.name}</dt><dd>{f.value}</dd></div>)}</dl>
);
