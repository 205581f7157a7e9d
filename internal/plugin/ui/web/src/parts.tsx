// Parts that several pages use.

import type { ComponentChildren } from "preact";
import type { Answer, Cause, State, Subject } from "./types";
import { ago, objectAddress } from "./view";

// signs tell states apart without colour.
const signs: Record<State, string> = {
  Stuck: "■", Failed: "✕", Degraded: "▲", Waiting: "◆", Deleting: "↓", Progressing: "↻", Healthy: "●", Gone: "○", Unknown: "?", Ambiguous: "?",
};

export const StateMark = ({ state }: { state: State }) => (
  <span class={"state " + state.toLowerCase()}><span aria-hidden="true">{signs[state] ?? "?"}</span> {state}</span>
);

export const ObjectLink = ({ o, children }: { o: Subject; children?: ComponentChildren }) => (
  <a href={objectAddress(o)}>{children ?? o.name}</a>
);

export const short = (api?: string) => (api === "machine.openshift.io" ? "openshift" : api === "machine.sapcloud.io" ? "gardener" : api ?? "");

// Command is a step that contains a command to copy, or only words.
export function Next({ text }: { text: string }) {
  const parts = text.split(/(`[^`]+`|kubectl [^;]+$)/);
  return <p class="next"><b>Next:</b> {parts.map((p, i) => (i % 2 ? <Command key={i} text={p.replaceAll("`", "")} /> : p))}</p>;
}

export function Command({ text }: { text: string }) {
  return (
    <span class="command"><code>{text}</code>
      <button type="button" aria-label={"copy " + text} onClick={() => void navigator.clipboard?.writeText(text)}>copy</button>
    </span>
  );
}

export function Causes({ list, now }: { list?: Cause[]; now: number }) {
  if (!list?.length) return null;
  return (
    <ol class="causes">
      {list.map((c, i) => (
        <li key={i}>{c.message}
          <small>{[c.source, c.reason, ago(c.since, now)].filter(Boolean).join(" · ")}</small>
        </li>
      ))}
    </ol>
  );
}

export const AnswerBox = ({ a, now }: { a: Answer; now: number }) => (
  <section class={"answer " + a.state.toLowerCase()} aria-label="why">
    <p class="sentence"><StateMark state={a.state} /> {a.sentence}</p>
    <Causes list={a.because} now={now} />
    {a.next && <Next text={a.next} />}
    <Gaps list={a.gaps} />
  </section>
);

export function Gaps({ list }: { list?: string[] | null }) {
  if (!list?.length) return null;
  return (
    <details class="gaps"><summary>{list.length === 1 ? "One fact" : list.length + " facts"} could not be read</summary>
      <ul>{list.map((g) => <li key={g}>{g}</li>)}</ul>
    </details>
  );
}
