package machinehealthcheck

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/health"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// patient is a machine whose node has shown a Ready condition since some time before
// noon.
func patient(name, ready string, since time.Duration) health.Target {
	return health.Target{
		UID: types.UID("uid-" + name), Name: name, Created: noon.Add(-time.Hour), Updated: noon.Add(-time.Hour), NodeName: "node-" + name,
		Node: &health.Node{Name: "node-" + name, Conditions: []health.NodeCondition{{Type: "Ready", Status: ready, Since: noon.Add(-since)}}},
	}
}

// silent selects nodes that have not reported for 5 minutes.
func silent() health.Check {
	return health.Check{Conditions: []health.Condition{{Type: "Ready", Status: "Unknown", Timeout: 5 * time.Minute}}, Remediation: health.Delete}
}

func TestCohort(t *testing.T) {
	w := newCohort(silent())
	well, ill := patient("m", "True", time.Hour), patient("m", "Unknown", time.Minute)
	if !w.put(noon, well) || len(w.news()) != 1 {
		t.Error("somebody new is news")
	}
	if w.put(noon.Add(time.Hour), patient("m", "True", time.Hour)) || len(w.news()) > 0 {
		t.Error("W10: the same again is no news")
	}
	if !w.put(noon, ill) {
		t.Error("a sick node is news")
	}
	if news := w.news(); len(news) != 1 || news[0].was.State != health.Healthy || news[0].now.State != health.Suspect {
		t.Errorf("C11: told %+v", news)
	}
	elsewhere := ill
	elsewhere.Zone = "b"
	if !w.put(noon, elsewhere) || len(w.news()) > 0 {
		t.Error("C11: a sick node that goes on being sick is told again")
	}
	due := noon.Add(4*time.Minute + time.Second)
	if !w.put(noon, ill) || w.put(due.Add(-1), ill) {
		t.Error("W10: the same again, before its moment, is no news")
	}
	if w.tick(due.Add(-1)); len(w.news()) > 0 {
		t.Error("a look too early changed something")
	}
	if w.tick(due); w.machines[ill.UID].Verdict.State != health.Unhealthy {
		t.Errorf("when the moment came: %+v", w.machines[ill.UID].Verdict)
	}
	if news := w.news(); len(news) != 1 || news[0].now.State != health.Unhealthy {
		t.Errorf("when the moment came: told %+v", news)
	}
	if !w.remove(ill.UID) || w.remove(ill.UID) || len(w.facts().Machines) != 0 || len(w.ill) != 0 {
		t.Error("C10: a machine that is gone still counts")
	}
}

// Of many changes at once, news come by name, and only machines that do not exist any more are forgotten.
func TestCohortOfMany(t *testing.T) {
	w := newCohort(silent())
	for _, name := range []string{"c", "a", "b"} {
		w.put(noon, patient(name, "Unknown", time.Hour))
	}
	var told string
	for _, n := range w.news() {
		told += n.target.Name
	}
	if told != "abc" {
		t.Errorf("told of %q", told)
	}
	w.retain(func(uid types.UID) bool { return uid == "uid-b" })
	if f := w.facts(); len(f.Machines) != 1 || f.Machines[0].Target.Name != "b" || len(w.ill) != 1 {
		t.Errorf("kept %+v", f.Machines)
	}
}

// Another check judges all machines anew, healthy ones too, and a machine of which
// no request is left over says so until it falls ill again.
func TestCohortRechecks(t *testing.T) {
	w := newCohort(silent())
	w.put(noon, patient("m", "True", time.Hour))
	w.cleared("uid-m")
	w.cleared("uid-of-nobody")
	if w.facts().Machines[0].Unclear {
		t.Error("4.6: the request that was cleared is left over")
	}
	strict := silent()
	strict.Conditions[0].Status = "True"
	if w.recheck(noon, strict); w.facts().Machines[0].Verdict.State != health.Unhealthy || len(w.ill) != 1 {
		t.Errorf("by another check: %+v", w.facts().Machines[0])
	}
	if w.recheck(noon, silent()); len(w.ill) != 0 || !w.facts().Machines[0].Unclear {
		t.Errorf("by the first check again: %+v", w.facts().Machines[0])
	}
}

// One machine's news costs one judgement: the others keep theirs, which are the same
// values as before.
func TestOneEventJudgesOneMachine(t *testing.T) {
	w := newCohort(silent())
	for i := range 1000 {
		w.put(noon, patient(fmt.Sprint("m", i), "True", time.Hour))
	}
	before := map[types.UID]*health.Judged{}
	for uid, j := range w.machines {
		before[uid] = j
	}
	w.put(noon, patient("m500", "Unknown", time.Minute))
	w.tick(noon.Add(time.Minute))
	var judged int
	for uid, j := range w.machines {
		if j != before[uid] {
			judged++
		}
	}
	if judged != 1 {
		t.Errorf("%d machines were judged", judged)
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	w := newCohort(silent())
	for i := range 1000 {
		w.put(noon, patient(fmt.Sprint("m", i), "True", time.Hour))
	}
	m := patient("m500", "True", time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if w.put(noon, m) {
			b.Fatal("a heartbeat is news")
		}
	}
}
