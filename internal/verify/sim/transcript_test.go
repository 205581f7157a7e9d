package sim

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/v1beta1"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/sim/cloud"
	"github.com/millwright-dev/millwright/internal/verify/sim/judge"
	"github.com/millwright-dev/millwright/internal/verify/sim/store"
)

// transcript records a world's events as the tests of real binaries do. The checker judges it in addition to the judge.
type transcript struct {
	w   *World
	run checker.Run
	// ending and gone are the IDs of instances for which the begin and the end of their termination are recorded.
	ending, gone map[string]bool
	parts        map[*cloud.Part]bool
	// machines are the UIDs of all machines that have existed.
	machines map[string]bool
	err      error
}

// transcribe starts a transcript with all objects and instances that exist.
func transcribe(w *World) *transcript {
	t := &transcript{w: w, run: checker.Run{Sets: string(setRole), Machines: string(machineRole), Once: true}, ending: map[string]bool{}, gone: map[string]bool{}, machines: map[string]bool{}}
	for _, a := range w.judgedAPIs() {
		t.run.DrainTimeout = max(t.run.DrainTimeout, a.DrainTimeout)
	}
	for _, s := range []*store.Store{w.store, w.target} {
		for _, k := range s.Kinds() {
			for _, o := range s.All(k.New()) {
				t.wrote(nil, o)
			}
		}
		judges := s.OnWrite
		s.OnWrite = func(was, now client.Object) {
			judges(was, now)
			t.wrote(was, now)
		}
	}
	made := w.cloud.OnCreate
	w.cloud.OnCreate = func(i *cloud.Machine) {
		made(i)
		t.ends()
		t.event(i, checker.Made)
	}
	judges := w.cloud.OnStop
	w.cloud.OnStop = func(i *cloud.Machine) {
		judges(i)
		if !t.ending[i.ID] {
			t.ending[i.ID] = true
			t.event(i, checker.Ending)
		}
	}
	return t
}

// by is the author of a write in the checker's words: it has one user for the controllers of sets and of deployments.
func (t *transcript) by() string {
	switch p := t.w.writing; {
	case p == nil:
		return "user"
	case p.By.Role == string(fleetRole):
		return string(setRole)
	default:
		return p.By.Role
	}
}

// now is a time that no other event has, so that events have an order.
func (t *transcript) now() time.Time { return t.w.now.Add(time.Duration(len(t.run.Events))) }

// event adds an event about an instance.
func (t *transcript) event(i *cloud.Machine, what string) {
	t.run.Events = append(t.run.Events, checker.Event{At: t.now(), What: what, UID: t.w.uidOf(i), Machine: i.Host, Instance: i.ID})
}

// ends records the instances that have ended since the last call.
func (t *transcript) ends() {
	for _, i := range t.w.cloud.Machines() {
		if i.Exists(t.w.now) || t.gone[i.ID] {
			continue
		}
		if t.gone[i.ID] = true; i.Died {
			t.event(i, checker.Died)
		}
		t.event(i, checker.Gone)
	}
	there := map[*cloud.Part]bool{}
	for _, p := range t.w.cloud.Parts("") {
		if t.w.uidOfPart(p) == "" {
			continue // the instance has no owner
		}
		if there[p] = true; !t.parts[p] {
			t.part(p, checker.Made)
		}
	}
	for p := range t.parts {
		if !there[p] {
			t.part(p, checker.Gone)
		}
	}
	t.parts = there
}

func (t *transcript) part(p *cloud.Part, what string) {
	t.run.Events = append(t.run.Events, checker.Event{At: t.now(), What: what, UID: t.w.uidOfPart(p), Part: p.Name, Instance: fmt.Sprintf("%p", p)})
}

func (t *transcript) wrote(was, now client.Object) {
	t.ends()
	o, verb := now, "update"
	switch {
	case was == nil:
		verb = "create"
	case now == nil:
		o, verb = was, "delete"
	case was.GetDeletionTimestamp() == nil && now.GetDeletionTimestamp() != nil:
		verb = "delete"
	}
	group, resource := resourceOf(o)
	if resource == "" {
		return
	}
	if resource == "machines" {
		t.machines[string(o.GetUID())] = true
	}
	w := checker.Write{
		Line: len(t.run.Events) + 1, Begun: t.now(), Done: t.now(), User: t.by(), Verb: verb, Group: group, Resource: resource,
		Namespace: o.GetNamespace(), Name: o.GetName(), Code: 200,
	}
	if now == nil {
		w.Object.Kind, w.Object.Details.UID = "Status", string(o.GetUID())
	} else if raw, err := json.Marshal(o); err != nil {
		t.err = err
	} else if err := json.Unmarshal(raw, &w.Object); err != nil {
		t.err = err
	}
	w.Object.APIVersion = group + "/v1"
	t.run.Events = append(t.run.Events, w.Event())
}

func resourceOf(o client.Object) (group, resource string) {
	switch o.(type) {
	case *machinev1.Machine, *machinev1.MachineSet, *v1beta1.MachineDeployment:
		group = "machine.openshift.io"
	case *v1alpha1.Machine, *v1alpha1.MachineSet, *v1alpha1.MachineDeployment:
		group = "machine.sapcloud.io"
	case *corev1.Node, *corev1.Pod:
	default:
		return "", ""
	}
	name := fmt.Sprintf("%T", o)
	return group, strings.ToLower(name[strings.LastIndex(name, ".")+1:]) + "s"
}

// judge returns the statements that the transcript breaks so far, each with the first breach.
func (t *transcript) judge(tb testing.TB) map[string]string {
	tb.Helper()
	if t.err != nil {
		tb.Fatal(t.err)
	}
	t.ends()
	run := t.run
	run.Events = slices.DeleteFunc(slices.Clone(run.Events), func(e checker.Event) bool { // users created it
		return t.w.losses.secondInstances[e.Instance] || t.w.losses.untaggedInstances[e.Instance] || e.Part != "" && !t.machines[e.UID]
	})
	if v := t.w.violation; v == nil || v.Statement == judge.LeavesNothing {
		for p := range t.parts {
			if t.w.judge.MayStay(t.w.uidOfPart(p)) { // its machine was deleted before, and no collector deletes the part
				run.Events = append(run.Events, checker.Event{At: t.now(), What: checker.Gone, Part: p.Name, Instance: fmt.Sprintf("%p", p)})
			}
		}
		run.Events = append(run.Events, checker.Event{At: t.now(), What: checker.Mark, Mark: checker.End})
	}
	found := map[string]string{}
	for _, v := range checker.Judge(run) {
		if len(v.Broken) > 0 {
			found[v.Statement] = v.Broken[0].String()
		}
	}
	return found
}

// TestCheckerBesideJudge: in worlds in which the judge finds nothing, the checker finds nothing. The transcript has no events that a
// restore undid.
func TestCheckerBesideJudge(t *testing.T) {
	for _, dialect := range []string{OpenShift, Gardener} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(*worldsBeside) {
				w := newWorld(seed, Options{Dialect: dialect, Steps: DefaultSteps})
				said := transcribe(w)
				w.live()
				if found := said.judge(t); len(found) > 0 && w.violation == nil && w.backups.restored == 0 {
					t.Errorf("seed %d: %v", seed, found)
				}
			}
		})
	}
}

// worldsBeside is the number of worlds: `go test ./internal/verify/sim -run TestCheckerBesideJudge -beside 100`.
var worldsBeside = flag.Int("beside", 10, "how many worlds of each API the checker judges beside the judge")

// both are the statements that both the judge and the checker have.
var both = map[string]string{
	judge.OneInstance: "one-instance", judge.WantedStays: "wanted-stays", judge.DrainedFirst: "drain-first", judge.HooksHonoured: "hooks",
	judge.NoEarlyRelease: "released-last", judge.HeldFirst: "held-first", judge.NodeLast: "node-last", judge.NotTooMany: "set-bound", judge.NotAbove: "surge", judge.NotBelow: "unavailable", judge.LeavesNothing: "no-leak",
}

// unseen are the defects that break a statement of both and that only the judge finds, with the reason. The list may only get shorter.
var unseen = map[string]string{
	"openshift what was available once counts for ever": "a machine at work is one whose phase is Running, whatever its node is like",
	"gardener all nodes are updated at once":            "updates in place are not judged",
}

// TestCheckerFindsMutants: if a defect breaks a statement that both have, the checker finds the breach in the same world as the judge.
func TestCheckerFindsMutants(t *testing.T) {
	known := readFinders(t)
	for _, m := range Mutants() {
		if !slices.ContainsFunc(m.Finds, func(statement string) bool { return both[statement] != "" }) {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			for _, dialect := range []string{OpenShift, Gardener, Both} {
				seed, found := known[dialect+" "+m.Name]
				if !found {
					continue
				}
				w := newWorld(seed, Options{Dialect: dialect, Steps: DefaultSteps, Mutation: &m})
				said := transcribe(w)
				w.live()
				if w.violation == nil || both[w.violation.Statement] == "" {
					continue
				}
				all, why := said.judge(t), unseen[dialect+" "+m.Name]
				switch seen := all[both[w.violation.Statement]] != ""; {
				case !seen && why == "":
					t.Errorf("%s, seed %d: the judge finds %v, and the checker %v", dialect, seed, w.violation, all)
				case seen && why != "":
					t.Errorf("%s, seed %d: the checker finds it, although %s: take it off the list", dialect, seed, why)
				default:
					t.Logf("%s, seed %d: %v", dialect, seed, all)
				}
			}
		})
	}
}
