import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Banner } from "./budgets";
import { FleetPage } from "./fleet";
import { onRefused, useFleet, useNow } from "./live";
import { ObjectPage } from "./object";
import { PlanPage } from "./plan";
import { enter, SignIn, Who, type About } from "./session";
import { fleetShown, parseRoute } from "./view";

function App({ about }: { about: About }) {
  const fleet = useFleet(), now = useNow();
  const [route, setRoute] = useState(parseRoute(location.hash));
  useEffect(() => {
    const changed = () => { fleetShown(location.hash); setRoute(parseRoute(location.hash)); };
    addEventListener("hashchange", changed);
    changed(); // the address may have changed since the first render
    return () => removeEventListener("hashchange", changed);
  }, []);
  return (
    <>
      <header><h1><a href="#/">{document.title}</a></h1><nav><a href="#/plan">Plan a change</a></nav>
        <span role="status" class={fleet.live ? "live" : "lost"}>{fleet.live ? "live" : fleet.lost || (fleet.loaded ? "no connection; what is shown may be old" : "connecting")}</span>
        {about.user && <Who about={about} changed={() => void open()} />}
      </header>
      <Banner budgets={fleet.budgets} now={now} />
      <main>
        {route.page === "fleet" && <FleetPage fleet={fleet} view={route.view} now={now} />}
        {route.page === "object" && <ObjectPage subject={route} fleet={fleet} now={now} beside={route.beside} />}
        {route.page === "plan" && <PlanPage key={route.about} fleet={fleet} about={route.about} />}
      </main>
    </>
  );
}

const root = document.getElementById("app")!;

let opened = 0;

// open shows the page from the beginning, or asks for what lets this browser in.
async function open() {
  try {
    const entry = await enter();
    if ("about" in entry) render(<App key={++opened} about={entry.about} />, root);
    else if (entry.token) render(<SignIn refused={entry.refused} entered={() => void open()} />, root);
    else render(<main><h1>Millwright</h1><p role="alert">{entry.refused}</p></main>, root);
  } catch (e) {
    render(<main><h1>Millwright</h1><p role="alert">{String(e)}</p></main>, root);
  }
}

onRefused(() => void open());
void open();
