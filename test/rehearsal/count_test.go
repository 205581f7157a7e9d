package rehearsal

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/checker"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// patience limits the time of each wait, on a busy computer.
const patience = 5 * time.Minute

// until waits for a condition, while the time of the cloud passes faster than real time. is returns the obstacle, or an empty
// string when the condition holds.
func (s *story) until(what string, is func() string) {
	s.t.Helper()
	for began := time.Now(); ; time.Sleep(250 * time.Millisecond) {
		wrong := is()
		if wrong == "" {
			return
		}
		for _, c := range s.fleet.Controllers {
			if !c.Alive() {
				s.t.Fatalf("%s: %s has ended by itself:\n%s", s.chapter, c.Program, c.Tail())
			}
		}
		if time.Since(began) > patience {
			s.t.Fatalf("%s: %s: not after %s: %s", s.chapter, what, patience, wrong)
		}
		s.post("advance?by=" + url.QueryEscape("1s"))
	}
}

// rests waits until the API server and the cloud have the wanted state of the fleet.
func (s *story) rests() { s.t.Helper(); s.until("the fleet rests", s.wrong) }

// machines returns all machines, by UID.
func (s *story) machines() map[string]fleet.Machine {
	s.t.Helper()
	all, err := s.fleet.Census(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	out := map[string]fleet.Machine{}
	for _, m := range all {
		out[m.UID] = m
	}
	return out
}

// of returns the machines of a pool.
func (s *story) of(p *pool) (all []fleet.Machine) {
	s.t.Helper()
	for _, m := range s.machines() {
		if s.owner(m) == p {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b fleet.Machine) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// owner returns the pool of a machine: the pool with the longest name that is a prefix of the name of the machine.
func (s *story) owner(m fleet.Machine) (of *pool) {
	for _, p := range s.pools {
		if p.GetNamespace() == m.Namespace && strings.HasPrefix(m.Name, p.GetName()+"-") && (of == nil || len(p.GetName()) > len(of.GetName())) {
			of = p
		}
	}
	return of
}

// run returns the history of the cloud so far, and its present state.
func (s *story) run() checker.Run {
	s.t.Helper()
	want := 0
	for _, p := range s.pools {
		want += p.replicas
	}
	run, err := record.Simulated(s.t.Context(), s.fleet.Client, s.fleet.Cloud, want, slices.Collect(maps.Keys(s.foreigners))...)
	if err != nil {
		s.t.Fatalf("%s: %v", s.chapter, err)
	}
	run.Once = true
	return run
}

// wrong returns how the cloud and the objects differ from the wanted state.
func (s *story) wrong() string { s.t.Helper(); return checker.Wrong(s.run(), checker.Rest) }

// count checks the first promise on the whole history of the simulator: a machine has at most one instance in its whole life,
// and the controllers change no resource of other owners.
func (s *story) count() {
	s.t.Helper()
	if wrong := checker.Wrong(s.run(), checker.Rest, checker.OneInstance, checker.OthersKept); wrong != "" {
		s.t.Fatalf("%s: at its end %s", s.chapter, wrong)
	}
}

// keepsPromises judges drains, hooks and bounds by all writes and instances since the start of the story. The whole story has an
// occasion for each of these promises.
func (s *story) keepsPromises() {
	s.t.Helper()
	run := s.run()
	run.Sets, run.Machines, run.DrainTimeout = fleet.User(fleet.Sets), fleet.User("machine-controller-"+s.cloud), 2*time.Hour
	judged, err := record.Promises(run, s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Log(judged.Table)
	for _, b := range judged.Broken {
		s.t.Error(b)
	}
	if *chapters == "" && len(judged.Unproven) > 0 {
		s.t.Errorf("the story proves nothing about %q", judged.Unproven)
	}
}

// unjoin deletes the nodes that have no machine, after there are some.
func (s *story) unjoin() {
	s.t.Helper()
	s.until("the node of the planted instance joins", func() string {
		of, gone := map[string]bool{}, 0
		for _, m := range s.machines() {
			of[m.Node] = true
		}
		var nodes corev1.NodeList
		if err := s.fleet.Client.List(s.t.Context(), &nodes); err != nil {
			s.t.Fatal(err)
		}
		for n := range nodes.Items {
			if !of[nodes.Items[n].Name] {
				gone++
				if err := s.fleet.Client.Delete(s.t.Context(), &nodes.Items[n]); client.IgnoreNotFound(err) != nil {
					s.t.Fatal(err)
				}
			}
		}
		if gone == 0 {
			return "all nodes are of machines"
		}
		return ""
	})
}
