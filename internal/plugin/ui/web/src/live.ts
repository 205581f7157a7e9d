// Live data: streams of server-sent events, and the fleet that they add up to.

import { useEffect, useState } from "preact/hooks";
import type { Answer, Change, Page, Row, Subject } from "./types";

export interface Fleet { rows: Map<string, Row>; gaps: string[]; controllers: Answer[]; at: string; live: boolean; loaded: boolean }

export const emptyFleet: Fleet = { rows: new Map(), gaps: [], controllers: [], at: "", live: false, loaded: false };

// apply returns the fleet after a change.
export function apply(f: Fleet, c: Change): Fleet {
  const rows = c.whole ? new Map<string, Row>() : new Map(f.rows);
  for (const r of c.rows ?? []) rows.set(r.id, r);
  for (const id of c.removed ?? []) rows.delete(id);
  return { rows, gaps: c.gaps ?? [], controllers: c.controllers ?? [], at: c.at, live: true, loaded: true };
}

// listen follows a stream until the returned function is called. The browser connects again by itself after an
// interruption; after a refusal it does not, and this function tries again.
function listen<T>(address: string, got: (v: T) => void, lost: () => void): () => void {
  let source: EventSource, timer = 0;
  const open = () => {
    source = new EventSource(address);
    source.onmessage = (e) => got(JSON.parse(e.data as string) as T);
    source.onerror = () => {
      lost();
      if (source.readyState === EventSource.CLOSED) timer = window.setTimeout(open, 3000);
    };
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

export function useFleet(): Fleet {
  const [fleet, set] = useState<Fleet>(emptyFleet);
  useEffect(() => listen<Change>("api/fleet", (c) => set((f) => apply(f, c)), () => set((f) => ({ ...f, live: false }))), []);
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

// signIn exchanges the code of the address for a cookie, and takes the code out of the address.
export async function signIn(): Promise<string> {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname);
    const answer = await fetch("api/session", { method: "POST", headers: { "Millwright-Code": code } });
    if (!answer.ok) return await answer.text();
  }
  const about = await fetch("api/about");
  if (!about.ok) return await about.text();
  const { cluster } = (await about.json()) as { cluster: string };
  document.title = cluster ? cluster + " · Millwright" : "Millwright";
  return "";
}
