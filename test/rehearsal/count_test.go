package rehearsal

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
)

// patience is how long anything may take on a machine that is busy.
const patience = 5 * time.Minute

// until waits for something, while the time of the cloud passes faster than ours. is says what is still in the way; empty: nothing.
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

// rests waits until the fleet is what is wanted, at the API server and at the cloud.
func (s *story) rests() { s.t.Helper(); s.until("the fleet rests", s.wrong) }

// machines are all there are, by UID.
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

// of are the machines of a pool.
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

// owner is the pool of a machine: the one with the longest name that begins the machine's.
func (s *story) owner(m fleet.Machine) (of *pool) {
	for _, p := range s.pools {
		if p.GetNamespace() == m.Namespace && strings.HasPrefix(m.Name, p.GetName()+"-") && (of == nil || len(p.GetName()) > len(of.GetName())) {
			of = p
		}
	}
	return of
}

// wrong says in which way the cloud and the objects are not as they should be.
func (s *story) wrong() string {
	s.t.Helper()
	machines, want := s.machines(), 0
	var problems []string
	for _, p := range s.pools {
		want += p.replicas
	}
	for _, m := range machines {
		if !m.Ready() {
			problems = append(problems, fmt.Sprintf("machine %s is %s, its node is Ready=%s: %s", m.Name, m.Phase, m.NodeReady, m.Why))
		}
	}
	if len(machines) != want {
		problems = append(problems, fmt.Sprintf("there are %d machines, %d are wanted", len(machines), want))
	}
	has := map[string]int{}
	for _, i := range s.living("") {
		has[i.uid()]++
		if _, known := machines[i.uid()]; !known && !s.foreigners[i.ID] {
			problems = append(problems, fmt.Sprintf("instance %s (%s) has no machine, and is %s", i.ID, i.Name, i.State))
		}
	}
	for uid, m := range machines {
		if has[uid] != 1 {
			problems = append(problems, fmt.Sprintf("machine %s has %d instances", m.Name, has[uid]))
		}
	}
	for _, what := range s.left() {
		problems = append(problems, "without an instance: "+what)
	}
	slices.Sort(problems)
	return strings.Join(problems, "; ")
}

// count holds what the double has seen to the first promise, not only now but at any time since the story began: a machine has one
// instance in its whole life. And nobody touches what belongs to others.
func (s *story) count() {
	s.t.Helper()
	if wrong := s.wrong(); wrong != "" {
		s.t.Fatalf("%s: at its end %s", s.chapter, wrong)
	}
	if why := broken(s.lives(), s.foreigners); why != "" {
		s.t.Fatalf("%s: %s", s.chapter, why)
	}
}

// broken says which promise the lives of instances break, of which those with the IDs of foreigners are another cluster's.
func broken(lives []instance, foreigners map[string]bool) string {
	lived := map[string]instance{}
	for _, i := range lives {
		uid := i.uid()
		if foreigners[i.ID] && !i.lives() {
			return fmt.Sprintf("%s of another cluster ended at %s", i.Name, i.Ended)
		}
		if uid == "" {
			return fmt.Sprintf("instance %s (%s) does not say whose it is: %v", i.ID, i.Name, i.Tags)
		}
		first, second := lived[uid]
		if second {
			return fmt.Sprintf("machine %s had two instances: %s from %s to %s and %s from %s to %s", uid, first.ID, first.Since, first.Ended, i.ID, i.Since, i.Ended)
		}
		lived[uid] = i
	}
	return ""
}

// unjoin takes away the nodes that are of no machine, once there are some.
func (s *story) unjoin() {
	s.t.Helper()
	s.until("the node of what was planted joins", func() string {
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
