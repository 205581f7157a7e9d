// Who uses the page. The page of `kubectl machine ui` lets the browser with the printed code in. The page in a cluster asks
// for a token, unless a proxy in front of it sends one. Code, token and namespace are headers of each request; none of them
// is ever in an address or a cookie.

import { useState } from "preact/hooks";

// The code is kept for this origin, host and port; token and namespace only for this tab.
const codeKey = "millwright-code", tokenKey = "millwright-token", namespaceKey = "millwright-namespace";

export function headers(): Record<string, string> {
  const out: Record<string, string> = {};
  const code = localStorage.getItem(codeKey), token = sessionStorage.getItem(tokenKey), namespace = sessionStorage.getItem(namespaceKey);
  if (code) out["Millwright-Code"] = code;
  if (token) out["Authorization"] = "Bearer " + token;
  if (namespace) out["Millwright-Namespace"] = namespace;
  return out;
}

export interface About { cluster: string; namespace: string; user: string }

// Entry is what the server answers to a browser that wants to come in: who it is, or why it does not come in, and whether a
// token would help.
export type Entry = { about: About } | { refused: string; token: boolean };

// enter keeps the code of the address, takes it out of the address, and asks the server.
export async function enter(): Promise<Entry> {
  const given = new URLSearchParams(location.hash.slice(1)).get("code");
  if (given) {
    localStorage.setItem(codeKey, given);
    history.replaceState(null, "", location.pathname);
  }
  const answer = await fetch("api/about", { headers: headers() });
  if (!answer.ok) {
    const had = sessionStorage.getItem(tokenKey), asks = answer.headers.get("WWW-Authenticate")?.startsWith("Bearer") ?? false;
    return { refused: asks && !had ? "" : (await answer.text()).trim(), token: asks || !!had };
  }
  const about = (await answer.json()) as About;
  document.title = about.cluster ? about.cluster + " · Millwright" : "Millwright";
  return { about };
}

// bearer is the token in what a user has pasted.
export const bearer = (pasted: string): string => pasted.trim().replace(/^Bearer\s+/i, "");

// signOut forgets the token.
function signOut() {
  sessionStorage.removeItem(tokenKey);
  sessionStorage.removeItem(namespaceKey);
}

export function SignIn({ refused, entered }: { refused: string; entered: () => void }) {
  const [token, setToken] = useState("");
  const send = (e: Event) => {
    e.preventDefault();
    sessionStorage.setItem(tokenKey, bearer(token));
    setToken("");
    entered();
  };
  return (
    <main>
      <h1>{document.title}</h1>
      <form onSubmit={send} aria-labelledby="sign-in">
        <h2 id="sign-in">Sign in</h2>
        {refused && <p role="alert" class="answer failed">{refused}</p>}
        <label>Token <input type="password" autocomplete="off" required value={token} onInput={(e) => setToken(e.currentTarget.value)} /></label>
        <p class="fine">The page shows and does what this token allows. It keeps the token in this tab. Ask your administrator for a token, or create one of a ServiceAccount: <code>kubectl create token NAME -n NAMESPACE</code></p>
        <button type="submit">Sign in</button>
      </form>
    </main>
  );
}

// Who shows the user of a page in a cluster, and chooses the namespace; changed is called when another one enters.
export function Who({ about, changed }: { about: About; changed: () => void }) {
  const [namespace, setNamespace] = useState(about.namespace);
  const choose = (e: Event) => {
    e.preventDefault();
    sessionStorage.setItem(namespaceKey, namespace.trim() || "*");
    changed();
  };
  return (
    <form class="who" onSubmit={choose} aria-label="namespace and user">
      <label>Namespace <input value={namespace} placeholder="all" size={16} onInput={(e) => setNamespace(e.currentTarget.value)} /></label>
      <button type="submit">Show</button>
      <span>{about.user}</span>
      {sessionStorage.getItem(tokenKey) && <button type="button" onClick={() => { signOut(); changed(); }}>Sign out</button>}
    </form>
  );
}
