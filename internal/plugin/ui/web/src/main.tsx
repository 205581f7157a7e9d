import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Banner } from "./budgets";
import { FleetPage } from "./fleet";
import { signIn, useFleet, useNow } from "./live";
import { ObjectPage } from "./object";
import { PlanPage } from "./plan";
import { parseRoute } from "./view";

function App() {
  const fleet = useFleet(), now = useNow();
  const [route, setRoute] = useState(parseRoute(location.hash));
  useEffect(() => {
    const changed = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", changed);
    changed(); // the address may have changed since the first render
    return () => removeEventListener("hashchange", changed);
  }, []);
  return (
    <>
      <header><h1><a href="#/">{document.title}</a></h1><nav><a href="#/plan">Plan a change</a></nav>
        <span role="status" class={fleet.live ? "live" : "lost"}>{fleet.live ? "live" : fleet.loaded ? "no connection; what is shown may be old" : "connecting"}</span>
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
const refused = (text: string) => render(<main><h1>Millwright</h1><p role="alert">{text}</p></main>, root);
signIn().then((problem) => (problem ? refused(problem) : render(<App />, root)), (e: unknown) => refused(String(e)));
