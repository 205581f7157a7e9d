// Live data: streams of server-sent events, and the fleet that they add up to.

import { useEffect, useState } from "preact/hooks";
import { headers } from "./session";
import type { Answer, BudgetRow, Change, Departed, Page, Row, Subject } from "./types";
import { departedNow } from "./view";

export interface Fleet { rows: Map<string, Row>; gaps: string[]; controllers: Answer[]; budgets: BudgetRow[]; departed: Departed[]; at: string; live: boolean; loaded: boolean; lost?: string }

export const emptyFleet: Fleet = { rows: new Map(), gaps: [], controllers: [], budgets: [], departed: [], at: "", live: false, loaded: false };

// apply returns the fleet after a change.
export function apply(f: Fleet, c: Change): Fleet {
  const rows = c.whole ? new Map<string, Row>() : new Map(f.rows);
  for (const r of c.rows ?? []) rows.set(r.id, r);
  for (const id of c.removed ?? []) rows.delete(id);
  return { rows, gaps: c.gaps ?? [], controllers: c.controllers ?? [], budgets: c.budgets ?? [], departed: departedNow(c.whole ? [] : f.departed, c.departed ?? [], rows), at: c.at, live: true, loaded: true };
}

const ask = (address: string, signal?: AbortSignal): Promise<Response> => fetch(address, { headers: headers(), ...(signal ? { signal } : {}) });

// refusedTo is called when the server does not let this browser in any more.
let refusedTo = () => {};
export const onRefused = (f: () => void): void => { refusedTo = f; };

// post sends a request with a body, and returns the answer. It throws what the server objects to.
export async function post<T>(address: string, body: unknown): Promise<T> {
  const answer = await fetch(address, { method: "POST", headers: { ...headers(), "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (answer.status === 401) refusedTo();
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return (await answer.json()) as T;
}

const again = 2000; // milliseconds until a stream that ended is opened again

// listen follows a stream of server-sent events until the returned function is called. EventSource would not do: it
// sends no headers.
function listen<T>(address: string, got: (v: T) => void, lost: (why: string) => void): () => void {
  const end = new AbortController();
  const follow = async () => {
    while (!end.signal.aborted) {
      let why = "";
      try {
        const answer = await ask(address, end.signal);
        if (answer.status === 401) return refusedTo();
        if (!answer.ok) why = (await answer.text()).trim();
        else if (answer.body) await read(answer.body, (text) => got(JSON.parse(text) as T));
      } catch {
        // reported below, and tried again
      }
      if (end.signal.aborted) return;
      lost(why);
      await new Promise((done) => setTimeout(done, again));
    }
  };
  void follow();
  return () => end.abort();
}

// read calls got with the data of each event until the stream ends.
async function read(body: ReadableStream<Uint8Array>, got: (text: string) => void) {
  const reader = body.getReader(), decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = events.pop() ?? "";
    for (const e of events) if (e.startsWith("data: ")) got(e.slice("data: ".length));
  }
}

export function useFleet(): Fleet {
  const [fleet, set] = useState<Fleet>(emptyFleet);
  useEffect(() => listen<Change>("api/fleet", (c) => set((f) => apply(f, c)), (lost) => set((f) => ({ ...f, live: false, lost }))), []);
  return fleet;
}

export function usePage(s: Subject): { page?: Page; live: boolean } {
  const [now, set] = useState<{ page?: Page; live: boolean }>({ live: true });
  const q = new URLSearchParams({ api: s.api ?? "", kind: s.kind, namespace: s.namespace ?? "", name: s.name }).toString();
  useEffect(() => {
    set({ live: true });
    return listen<Page>("api/object?" + q, (page) => set({ page, live: true }), () => set((was) => ({ ...was, live: false })));
  }, [q]);
  return now;
}

// useNow is the time, each second.
export function useNow(): number {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => set(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
