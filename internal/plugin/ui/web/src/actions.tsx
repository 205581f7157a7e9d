// Actions on an object: each shows its command and its plan, and waits for a confirmation.

import { useEffect, useRef, useState } from "preact/hooks";
import { post } from "./live";
import { Command } from "./parts";
import { PlanBox } from "./plan";
import type { Action, ActionRequest, Offer, Subject } from "./types";

interface State { waits?: boolean; error?: string; asked?: ActionRequest; action?: Action; done?: string }

export function Actions({ offers, subject: { api, kind, namespace, name } }: { offers: Offer[]; subject: Subject }) {
  const [state, set] = useState<State>({});
  const box = useRef<HTMLElement>(null);
  useEffect(() => { if (state.action) box.current?.focus(); }, [state.action]);
  const object = { ...(api ? { api } : {}), kind, ...(namespace ? { namespace } : {}), name };
  const failed = (e: Error) => set({ error: e.message });
  const ask = (action: string, value: string) => {
    const asked: ActionRequest = { action, object, ...(value ? { value } : {}) };
    set({ waits: true });
    post<Action>("api/action", asked).then((a) => set({ asked, action: a }), failed);
  };
  const confirm = ({ asked, action: a }: State) => {
    set({ waits: true });
    post<Action>("api/action", { ...asked!, confirm: true, uid: a!.uid, line: a!.line }).then(() => set({ done: a!.label }), failed);
  };
  return (
    <section aria-label="actions" class="actions">
      <h3>Actions</h3>
      <div class="offers">{offers.map((o) => <One key={o.name + (o.default ?? "")} offer={o} ask={ask} />)}</div>
      {state.waits && <p role="status">Asking the API server …</p>}
      {state.error && <p role="alert" class="answer failed">{state.error}</p>}
      {state.done && <p role="status">The API server has accepted: {state.done}.</p>}
      {state.action && (
        <section ref={box} tabIndex={-1} aria-label="confirm" class="answer waiting">
          <p><Command text={state.action.line} /></p>
          {state.action.plan && <PlanBox plan={state.action.plan} />}
          <p class="offers"><button type="button" class="danger" onClick={() => confirm(state)}>{state.action.label}</button> <button type="button" onClick={() => set({})}>Cancel</button></p>
        </section>
      )}
    </section>
  );
}

function One({ offer: o, ask }: { offer: Offer; ask: (action: string, value: string) => void }) {
  const [value, setValue] = useState(o.default ?? "");
  return (
    <form onSubmit={(e) => { e.preventDefault(); ask(o.name, value); }}>
      {o.value && <label>{o.label}: {o.value} <input value={value} inputMode={o.number ? "numeric" : "text"} onInput={(e) => setValue(e.currentTarget.value)} /></label>}
      <button type="submit">{o.label} …</button>
    </form>
  );
}
