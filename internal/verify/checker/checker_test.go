package checker

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// Who writes in the stories.
const (
	user     = "user"
	setsUser = "sets"
	mcUser   = "machines"
	kwokUser = "kwok"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// at is a moment of a story, in seconds.
func at(seconds float64) time.Time {
	return midnight.Add(time.Duration(seconds * float64(time.Second)))
}

// story is a history written by hand. Each write takes 10 ms.
type story struct {
	Run
	Writes  []Write
	version int
}

// run is all that happened.
func (s *story) run() Run {
	r := s.Run.clone()
	for _, w := range s.Writes {
		r.Events = append(r.Events, w.Event())
	}
	return r
}

func (s *story) write(when float64, by, verb, resource string, o Object) *Write {
	s.version++
	o.Metadata.ResourceVersion = strconv.Itoa(s.version)
	s.Writes = append(s.Writes, Write{
		Line: len(s.Writes) + 1, Begun: at(when), Done: at(when + 0.01), User: by, Verb: verb, Resource: resource,
		Group: "machine.openshift.io", Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Code: 200, Object: o,
	})
	w := &s.Writes[len(s.Writes)-1]
	if resource == "pods" || resource == "nodes" {
		w.Group = ""
	}
	return w
}

// vanish is a deletion after which nothing is left.
func (s *story) vanish(when float64, by, resource string, o Object) {
	w := s.write(when, by, "delete", resource, o)
	w.Object = Object{Kind: "Status"}
	w.Object.Details.UID = o.Metadata.UID
}

// evict is a request about a pod that answers without it.
func (s *story) evict(when float64, by string, pod Object) {
	w := s.write(when, by, "create", "pods", pod)
	w.Subresource, w.Object = "eviction", Object{Kind: "Status"}
}

func (s *story) bind(when float64, pod Object, node string) {
	w := s.write(when, "scheduler", "create", "pods", pod)
	w.Subresource, w.Target, w.Object = "binding", node, Object{Kind: "Status"}
}

func (s *story) event(when float64, e Event) {
	e.At, e.Line = at(when), len(s.Events)+1
	s.Events = append(s.Events, e)
}

// instance lives from one moment to another, and its end takes half a second.
func (s *story) instance(id, machine string, made, ending float64) {
	e := Event{Instance: id, UID: machine, Machine: machine}
	e.What = Made
	s.event(made, e)
	if ending > 0 {
		e.What = Ending
		s.event(ending, e)
		e.What = Gone
		s.event(ending+0.5, e)
	}
}

func (s *story) call(when float64, verb, machine string) {
	id := fmt.Sprint("call-", len(s.Events))
	s.event(when, Event{What: Call, ID: id, Verb: verb, UID: machine, Machine: machine})
	s.event(when+0.2, Event{What: Reply, ID: id, Verb: verb, UID: machine, Machine: machine})
}

func object(name string, labels ...string) Object {
	o := Object{Kind: "Any"}
	o.Metadata.Name, o.Metadata.UID, o.Metadata.Namespace = name, name, "default"
	for i := 0; i+1 < len(labels); i += 2 {
		if o.Metadata.Labels == nil {
			o.Metadata.Labels = map[string]string{}
		}
		o.Metadata.Labels[labels[i]] = labels[i+1]
	}
	return o
}

func (o Object) with(change func(*Object)) Object {
	change(&o)
	return o
}

func (o Object) ownedBy(kind, uid string) Object {
	o.Metadata.OwnerReferences = []Owner{{Kind: kind, UID: uid, Controller: true}}
	return o
}

func (o Object) held() Object {
	o.Metadata.Finalizers = []string{"finalizer"}
	return o
}

func (o Object) deletedAt(when float64) Object {
	t := at(when).Truncate(time.Second)
	o.Metadata.DeletionTimestamp = &t
	return o
}

func (o Object) running() Object {
	o.Status.Phase = "Running"
	return o
}

func (o Object) wants(n int, generation int64) Object {
	o.Spec.Replicas, o.Metadata.Generation = &n, generation
	o.Spec.Selector.MatchLabels = map[string]string{"pool": "a"}
	return o
}

func (o Object) bounded(surge, unavailable string) Object {
	o.Spec.Strategy.RollingUpdate.MaxSurge = Share(surge)
	o.Spec.Strategy.RollingUpdate.MaxUnavailable = Share(unavailable)
	return o
}

// machineOf is a machine of a set as it is made.
func machineOf(set, name string) Object {
	return object(name, "pool", "a").ownedBy("MachineSet", set).held()
}

// life is the story of one machine of a set: made, at work with a pod on it, deleted by a user, drained, ended, gone. Its
// moments are whole seconds.
func life() *story {
	s := &story{Run: Run{Sets: setsUser, Machines: mcUser, DrainTimeout: 2 * time.Hour}}
	set, m := object("set").wants(1, 1), machineOf("set", "m")
	node, pod := object("m").with(func(o *Object) {
		o.Metadata.UID, o.Status.Conditions = "node", []Condition{{Type: "Ready", Status: "True"}}
	}), object("pod")
	s.write(0, user, "create", "machinesets", set)
	s.write(1, setsUser, "create", "machines", m)
	s.call(2, "create", "m")
	s.instance("i-1", "m", 2.1, 8.1)
	s.write(3, mcUser, "create", "nodes", node)
	s.write(3.5, mcUser, "patch", "machines", m.running())
	s.write(4, "kcm", "create", "pods", pod)
	s.bind(4.1, pod, "m")
	s.write(5, user, "delete", "machines", m.running().deletedAt(5))
	s.write(6, mcUser, "patch", "nodes", node.with(func(o *Object) { o.Spec.Unschedulable = true }))
	s.evict(7, mcUser, pod)
	s.write(7.1, kwokUser, "delete", "pods", pod.deletedAt(7))
	s.call(8, "delete", "m")
	s.vanish(9, mcUser, "nodes", node)
	s.write(9.1, mcUser, "patch", "machines", m.running().deletedAt(5).with(func(o *Object) { o.Metadata.Finalizers = nil }))
	s.vanish(9.5, user, "machinesets", set)
	s.event(10, Event{What: Mark, Mark: End})
	return s
}

// find is the write about an object nearest to a moment.
func (s *story) find(when float64, resource string) *Write {
	i := slices.IndexFunc(s.Writes, func(w Write) bool { return w.Begun.Equal(at(when)) && w.Resource == resource })
	return &s.Writes[i]
}

// drop takes the write out.
func (s *story) drop(when float64, resource string) {
	s.Writes = slices.DeleteFunc(s.Writes, func(w Write) bool { return w.Begun.Equal(at(when)) && w.Resource == resource })
}

// renameNode gives the node another name than its machine's, which the machine records.
func (s *story) renameNode(name string) {
	for i := range s.Writes {
		switch w := &s.Writes[i]; {
		case w.Resource == "machines":
			w.Object.Status.NodeRef.Name = name
		case w.Resource == "nodes":
			w.Name, w.Object.Metadata.Name = name, name
		case w.Target != "":
			w.Target = name
		}
	}
}

// all changes the object of a machine in all that is written of it from a moment on.
func (s *story) all(uid string, from float64, change func(*Object)) {
	for i := range s.Writes {
		if w := &s.Writes[i]; w.Object.Metadata.UID == uid && !w.Begun.Before(at(from)) {
			change(&w.Object)
		}
	}
}

func preDrain(o *Object)     { o.Spec.LifecycleHooks.PreDrain = []Hook{{Name: "hook"}} }
func preTerminate(o *Object) { o.Spec.LifecycleHooks.PreTerminate = []Hook{{Name: "hook"}} }

// TestOneMachine judges the life of one machine, and that life with one thing about it changed.
func TestOneMachine(t *testing.T) {
	undrained := func(s *story) {
		s.drop(7, "pods")
		s.drop(7.1, "pods")
	}
	tests := []struct {
		name, reason string
		change       func(s *story)
		// broken is the statement that the change breaks; empty: none.
		broken string
	}{
		{"life", "nothing is wrong with it", func(*story) {}, ""},

		{"twin", "the first instance lives", func(s *story) { s.instance("i-2", "m", 5, 8.1) }, "one-instance"},
		{"successor", "the first was told to end before the second was made", func(s *story) { s.instance("i-2", "m", 8.2, 8.5) }, ""},
		{"other", "it is another machine's", func(s *story) { s.instance("i-2", "x", 5, 8.1) }, ""},

		{"undrained", "the pod is on the node", undrained, "drain-first"},
		{"undrained on a node of another name", "the machine says which node it has", func(s *story) {
			undrained(s)
			s.renameNode("ip-10-0-0-1")
		}, "drain-first"},
		{"leaving", "the pod is on its way, and still there", func(s *story) {
			grace := int64(30)
			s.find(7.1, "pods").Object.Metadata.DeletionGracePeriodSeconds = &grace
		}, "drain-first"},
		{"leaving a silent node", "nothing will say that the pod has ended", func(s *story) {
			grace := int64(30)
			s.find(7.1, "pods").Object.Metadata.DeletionGracePeriodSeconds = &grace
			s.all("node", 3, func(o *Object) { o.Status.Conditions = []Condition{{Type: "Ready", Status: "Unknown"}} })
		}, ""},
		{"on a silent node", "the pod was not told to go", func(s *story) {
			undrained(s)
			s.all("node", 3, func(o *Object) { o.Status.Conditions = []Condition{{Type: "Ready", Status: "Unknown"}} })
		}, "drain-first"},
		{"taken away", "a user took the machine's object away, so that the instance is nobody's", func(s *story) {
			undrained(s)
			s.find(9.1, "machines").User = user
			s.find(9.1, "machines").Begun, s.find(9.1, "machines").Done = at(7.5), at(7.6)
		}, ""},
		{"in flight", "the answer to the pod's end came later, and it may have been at once", func(s *story) { s.find(7.1, "pods").Done = at(8.5) }, ""},
		{"daemon", "no drain moves it", func(s *story) {
			undrained(s)
			s.find(4, "pods").Object = object("pod").ownedBy("DaemonSet", "ds")
		}, ""},
		{"finished", "it does nothing any more", func(s *story) {
			undrained(s)
			s.find(4, "pods").Object.Status.Phase = "Succeeded"
		}, ""},
		{"late pod", "it came to the node when that was closed already", func(s *story) {
			undrained(s)
			for i := range s.Writes {
				if s.Writes[i].Subresource == "binding" {
					s.Writes[i].Begun, s.Writes[i].Done = at(6.5), at(6.6)
				}
			}
		}, ""},
		{"never closed", "the node was not closed to a pod that came late", func(s *story) {
			undrained(s)
			s.drop(6, "nodes")
		}, "drain-first"},
		{"excluded", "a user asked for no drain", func(s *story) {
			undrained(s)
			s.all("m", 5, func(o *Object) {
				o.Metadata.Annotations = map[string]string{"machine.openshift.io/exclude-node-draining": ""}
			})
		}, ""},
		{"forced", "a user forced the deletion", func(s *story) {
			undrained(s)
			s.all("m", 5, func(o *Object) { o.Metadata.Labels = map[string]string{"force-deletion": "True"} })
		}, ""},
		{"timed out", "two seconds are over", func(s *story) {
			undrained(s)
			s.all("m", 0, func(o *Object) {
				o.Metadata.Annotations = map[string]string{"millwright.dev/drain-timeout": "2s"}
			})
		}, ""},
		{"not timed out", "ten seconds are not over", func(s *story) {
			undrained(s)
			s.all("m", 0, func(o *Object) {
				o.Metadata.Annotations = map[string]string{"millwright.dev/drain-timeout": "10s"}
			})
		}, "drain-first"},

		{"hooked drain", "the preDrain hook was there at the deletion", func(s *story) { s.all("m", 5, preDrain) }, "hooks"},
		{"hooked delete", "a pod that is deleted is told to go as well", func(s *story) {
			s.all("m", 5, preDrain)
			w := s.find(7, "pods")
			w.Verb, w.Subresource = "delete", ""
			w.Object = object("pod").deletedAt(7)
		}, "hooks"},
		{"hooked end", "the preTerminate hook was there at the deletion", func(s *story) { s.all("m", 5, preTerminate) }, "hooks"},
		{"hooked end without a drain", "the preDrain hook was there at the deletion, and no drain is done", func(s *story) {
			s.drop(7, "pods")
			s.all("m", 5, preDrain)
		}, "hooks"},
		{"hooked end after a drain", "the hook was there again once the drain was done", func(s *story) {
			s.drop(7, "pods")
			s.all("m", 5, preDrain)
			s.all("m", 5, func(o *Object) { o.Status.Conditions = []Condition{{Type: "Drained", Status: "True"}} })
		}, ""},
		{"hooked drain of a node of another name", "the pod is evicted, and the machine says which node it has", func(s *story) {
			s.all("m", 5, preDrain)
			s.all("m", 5, func(o *Object) { o.Status.Conditions = []Condition{{Type: "Drained", Status: "True"}} })
			s.renameNode("ip-10-0-0-1")
		}, "hooks"},
		{"hook taken off", "before the eviction", func(s *story) {
			s.find(5, "machines").Object = machineOf("set", "m").running().deletedAt(5).with(preDrain)
			s.write(6.5, user, "patch", "machines", machineOf("set", "m").running().deletedAt(5))
			slices.SortFunc(s.Writes, func(a, b Write) int { return a.Begun.Compare(b.Begun) })
			for i := range s.Writes {
				s.Writes[i].Object.Metadata.ResourceVersion = strconv.Itoa(i)
			}
		}, ""},
		{"hook too late", "nobody may put one on under deletion", func(s *story) { s.all("m", 5.5, preTerminate) }, ""},

		{"ended while wanted", "a user deleted it after that", func(s *story) {
			w := s.find(5, "machines")
			w.Begun, w.Done = at(8.5), at(8.6)
		}, "wanted-stays"},
		{"ended by itself", "nobody asked for it", func(s *story) {
			s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.What == Ending || e.What == Gone })
			s.event(4.5, Event{Instance: "i-1", UID: "m", Machine: "m", What: Died})
			s.event(4.6, Event{Instance: "i-1", UID: "m", Machine: "m", What: Gone})
		}, ""},
		{"gone", "and nobody knows why", func(s *story) {
			s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.What == Ending || e.What == Gone })
			s.event(4.6, Event{Instance: "i-1", UID: "m", Machine: "m", What: Gone})
		}, "wanted-stays"},
		{"a disk after it", "the machine was let go of before", func(s *story) {
			s.event(2.05, Event{What: Made, Part: "disk", Instance: "i-1", UID: "m"})
			s.event(9.3, Event{What: Gone, Part: "disk", Instance: "i-1", UID: "m"})
		}, "released-last"},
		{"a disk before it", "the machine is let go of later", func(s *story) {
			s.event(2.05, Event{What: Made, Part: "disk", Instance: "i-1", UID: "m"})
			s.event(8.8, Event{What: Gone, Part: "disk", Instance: "i-1", UID: "m"})
		}, ""},
		{"a disk that stays", "a user took the machine away", func(s *story) {
			s.find(9.1, "machines").User = user
			s.event(2.05, Event{What: Made, Part: "disk", Instance: "i-1", UID: "m"})
		}, "no-leak"},
		{"not held", "the machine has no finalizer", func(s *story) {
			s.all("m", 0, func(o *Object) { o.Metadata.Finalizers = nil })
		}, "held-first"},
		{"node before it", "the instance ends later", func(s *story) {
			for n := range s.Events {
				if s.Events[n].What == Gone {
					s.Events[n].At = at(9.05)
				}
			}
		}, "node-last"},
		{"node perhaps before it", "the last look that saw the instance was earlier", func(s *story) {
			for n := range s.Events {
				if s.Events[n].What == Gone {
					s.Events[n].At, s.Events[n].From = at(9.05), at(8.9)
				}
			}
		}, ""},
		{"let go of too early", "the instance ends later", func(s *story) {
			s.find(9, "nodes").User = user
			for n := range s.Events {
				if s.Events[n].What == Gone {
					s.Events[n].At = at(9.3)
				}
			}
		}, "released-last"},
		{"left", "the instance is there at the end", func(s *story) {
			s.find(9, "nodes").User = user
			s.find(9.1, "machines").User = user
			s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.What == Gone })
		}, "no-leak"},
		{"held", "the machine's finalizer is not taken off", func(s *story) { s.drop(9.1, "machines") }, "no-leak"},
		{"disk", "the infrastructure has more than instances", func(s *story) { s.Events[len(s.Events)-1].Message = "disk 1" }, "no-leak"},
		{"unsettled", "the world says so", func(s *story) { s.event(9, Event{What: Mark, Mark: Unsettled}) }, "settles"},
		{"crashed", "the world says so", func(s *story) { s.event(9, Event{What: Mark, Mark: Crashed}) }, "settles"},
		{"unseen", "the infrastructure's own log lacks the instance", func(s *story) {
			s.Events = slices.DeleteFunc(s.Events, func(e Event) bool { return e.Instance == "i-1" })
		}, "recorded"},
		{"changed recipe", "controllers make other machines of a set", func(s *story) {
			s.write(4.5, setsUser, "patch", "machinesets", object("set").wants(1, 2).with(func(o *Object) { o.Spec.Template.Spec.Class.Name = "other" }))
			slices.SortFunc(s.Writes, func(a, b Write) int { return a.Begun.Compare(b.Begun) })
		}, "no-roll"},
		{"rolled back", "a user asked for it, and the controllers do it", func(s *story) {
			ask := func(o *Object) { o.Spec.RollbackTo = &struct{}{} }
			s.write(4.4, user, "patch", "machinesets", object("set").wants(1, 2).with(ask))
			s.write(4.5, setsUser, "patch", "machinesets", object("set").wants(1, 3).with(func(o *Object) { o.Spec.Template.Spec.Class.Name = "other" }))
			slices.SortFunc(s.Writes, func(a, b Write) int { return a.Begun.Compare(b.Begun) })
		}, ""},
		{"changed by its user", "who may", func(s *story) {
			s.write(4.5, user, "patch", "machinesets", object("set").wants(1, 2).with(func(o *Object) { o.Spec.Template.Spec.Class.Name = "other" }))
			slices.SortFunc(s.Writes, func(a, b Write) int { return a.Begun.Compare(b.Begun) })
		}, ""},
		{"exchange with work", "a machine was made while nothing but binaries changed", func(s *story) {
			s.event(1.5, Event{What: Mark, Mark: Exchanged, From: at(0.5), Until: at(1.5)})
		}, "no-roll"},
		{"quiet exchange", "nothing was made or ended", func(s *story) {
			s.event(4.9, Event{What: Mark, Mark: Exchanged, From: at(3.8), Until: at(4.9)})
		}, ""},
		{"exchange with a call", "the infrastructure was asked to end a machine", func(s *story) {
			s.event(8.3, Event{What: Mark, Mark: Exchanged, From: at(7.9), Until: at(8.3)})
		}, "no-roll"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := life()
			tc.change(s)
			expect(t, s, tc.reason, tc.broken)
		})
	}
}

// expect judges a story, of which one statement is broken at most.
func expect(t *testing.T, s *story, reason, broken string) {
	t.Helper()
	for _, v := range Judge(s.run()) {
		switch {
		case v.Statement == broken && len(v.Broken) == 0:
			t.Errorf("%s is kept, want it broken: %s", v.Statement, reason)
		case v.Statement == broken && v.Judged == 0:
			t.Errorf("%s is broken and was not judged", v.Statement)
		case v.Statement != broken && len(v.Broken) > 0:
			t.Errorf("%s is broken: %v; want only %q to be, if any: %s", v.Statement, v.Broken, broken, reason)
		}
	}
}
