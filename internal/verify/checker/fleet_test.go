package checker

import (
	"slices"
	"testing"
)

// count makes machines of a set, one in each tenth of a second, which work half a second after they were made.
func (s *story) count(when float64, set string, names ...string) {
	for i, name := range names {
		s.write(when+float64(i)/10, setsUser, "create", "machines", machineOf(set, name))
	}
	for i, name := range names {
		s.write(when+0.5+float64(i)/10, mcUser, "patch", "machines", machineOf(set, name).running())
	}
}

// give lets the controllers of sets, or a user, delete machines that work.
func (s *story) give(when float64, by, set string, names ...string) {
	for i, name := range names {
		s.write(when+float64(i)/10, by, "delete", "machines", machineOf(set, name).running().deletedAt(when))
	}
}

// observed is the status of a set or deployment, as its controller writes it.
func (s *story) observed(when float64, resource string, o Object, generation int64) {
	o.Status.ObservedGeneration = generation
	s.write(when, setsUser, "patch", resource, o)
}

// TestSets judges sets by what they wanted while their controller may have known of it.
func TestSets(t *testing.T) {
	set := func(n int, generation int64) Object { return object("set").wants(n, generation) }
	tests := []struct {
		name, reason string
		tell         func(s *story)
		broken       bool
	}{
		{"enough", "two are wanted and made", func(s *story) {
			s.write(0, user, "create", "machinesets", set(2, 1))
			s.count(1, "set", "a", "b")
		}, false},
		{"too many", "two are wanted and three made", func(s *story) {
			s.write(0, user, "create", "machinesets", set(2, 1))
			s.count(1, "set", "a", "b", "c")
		}, true},
		{"stale", "three were wanted when the controller last said what it knows", func(s *story) {
			s.write(0, user, "create", "machinesets", set(3, 1))
			s.observed(0.5, "machinesets", set(3, 1), 1)
			s.write(0.8, user, "patch", "machinesets", set(2, 2))
			s.count(1, "set", "a", "b", "c")
		}, false},
		{"known", "the controller had written that it knows of two", func(s *story) {
			s.write(0, user, "create", "machinesets", set(3, 1))
			s.write(0.8, user, "patch", "machinesets", set(2, 2))
			s.observed(0.9, "machinesets", set(2, 2), 2)
			s.count(1, "set", "a", "b", "c")
		}, true},
		{"replaced", "one was deleted by a user", func(s *story) {
			s.write(0, user, "create", "machinesets", set(2, 1))
			s.count(1, "set", "a", "b")
			s.give(2, user, "set", "a")
			s.count(3, "set", "c")
		}, false},
		{"replaced too early", "the deletion came after that", func(s *story) {
			s.write(0, user, "create", "machinesets", set(2, 1))
			s.count(1, "set", "a", "b")
			s.write(2, setsUser, "create", "machines", machineOf("set", "c"))
			s.give(2.5, user, "set", "a")
		}, true},
		{"released", "one is not selected any more", func(s *story) {
			s.write(0, user, "create", "machinesets", set(2, 1))
			s.count(1, "set", "a", "b")
			s.write(2, user, "patch", "machines", machineOf("set", "a").with(func(o *Object) { o.Metadata.Labels = nil }))
			s.count(3, "set", "c")
		}, false},
		{"failed", "one is given up and stays", func(s *story) {
			s.write(0, user, "create", "machinesets", set(2, 1))
			s.count(1, "set", "a", "b")
			s.write(2, mcUser, "patch", "machines", machineOf("set", "a").with(func(o *Object) { o.Status.CurrentStatus.Phase = "Failed" }))
			s.count(3, "set", "c")
		}, false},
		{"by a user", "whoever makes machines of a set by hand knows what for", func(s *story) {
			s.write(0, user, "create", "machinesets", set(1, 1))
			s.count(1, "set", "a")
			s.write(2, user, "create", "machines", machineOf("set", "b"))
		}, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := &story{Run: Run{Sets: setsUser, Machines: mcUser}}
			tc.tell(s)
			expect(t, s, tc.reason, map[bool]string{true: "set-bound"}[tc.broken])
		})
	}
}

// TestRollouts judges deployments of four machines with two sets.
func TestRollouts(t *testing.T) {
	deployment := func(surge, unavailable string) Object {
		return object("dep").wants(4, 1).bounded(surge, unavailable)
	}
	of := func(name string, n int) Object { return object(name).wants(n, 1).ownedBy("MachineDeployment", "dep") }
	grow := func(s *story, n int) { s.write(9.9, setsUser, "patch", "machinesets", of("new", n)) }
	tests := []struct {
		name, reason       string
		surge, unavailable string
		tell               func(s *story)
		broken             string
	}{
		{"one more", "is the surge", "1", "0", func(s *story) {
			grow(s, 1)
			s.count(10, "new", "e")
		}, ""},
		{"two more", "are more than the surge", "1", "0", func(s *story) { grow(s, 2) }, "surge"},
		{"half of them more", "are the surge in percent", "50%", "0", func(s *story) {
			grow(s, 2)
			s.count(10, "new", "e", "f")
		}, ""},
		{"one more beside those that stay", "the old set is to have fewer, and has not given them up yet", "1", "0", func(s *story) {
			s.write(9.8, setsUser, "patch", "machinesets", of("old", 2))
			grow(s, 2)
		}, "surge"},
		{"all at once", "the other strategies have no bounds", "1", "0", func(s *story) {
			s.all("dep", 0, func(o *Object) { o.Spec.Strategy.Type = "OnDelete" })
			grow(s, 4)
		}, ""},
		{"as many as its set wants", "the set has not heard yet that fewer are wanted", "1", "0", func(s *story) {
			s.write(9, user, "patch", "machinedeployments", object("dep").wants(2, 2).bounded("1", "0"))
			s.observed(9.1, "machinedeployments", object("dep").wants(2, 2).bounded("1", "0"), 2)
			s.give(9.5, user, "old", "d")
			s.count(10, "old", "e")
		}, ""},
		{"one less", "none may be away", "1", "0", func(s *story) { s.give(10, setsUser, "old", "a") }, "unavailable"},
		{"one for one", "the new one works", "1", "0", func(s *story) {
			grow(s, 1)
			s.count(10, "new", "e")
			s.give(11, setsUser, "old", "a")
		}, ""},
		{"one for one that does not work", "the new one does not work yet", "1", "0", func(s *story) {
			grow(s, 1)
			s.write(10, setsUser, "create", "machines", machineOf("new", "e"))
			s.give(11, setsUser, "old", "a")
		}, "unavailable"},
		{"one for one that has its node", "machine.openshift.io counts a machine by its node, and says Running later", "1", "0", func(s *story) {
			grow(s, 1)
			s.write(10, setsUser, "create", "machines", machineOf("new", "e"))
			s.write(10.5, mcUser, "patch", "machines", machineOf("new", "e").with(func(o *Object) { o.Status.Phase, o.Status.NodeRef.Name = "Provisioning", "e" }))
			s.give(11, setsUser, "old", "a")
		}, ""},
		{"one for one that failed", "its node does not count", "1", "0", func(s *story) {
			grow(s, 1)
			s.write(10, setsUser, "create", "machines", machineOf("new", "e"))
			s.write(10.5, mcUser, "patch", "machines", machineOf("new", "e").with(func(o *Object) { o.Status.Phase, o.Status.NodeRef.Name = "Failed", "e" }))
			s.give(11, setsUser, "old", "a")
		}, "unavailable"},
		{"one may be away", "and is", "1", "1", func(s *story) { s.give(10, setsUser, "old", "a") }, ""},
		{"two are away", "one may be", "1", "1", func(s *story) { s.give(10, setsUser, "old", "a", "b") }, "unavailable"},
		{"two are away before all go", "that the deployment wants none later excuses nothing", "1", "1", func(s *story) {
			s.give(10, setsUser, "old", "a", "b")
			s.write(20, user, "patch", "machinedeployments", object("dep").wants(0, 2).bounded("1", "1"))
		}, "unavailable"},
		{"a quarter may be away", "and is", "1", "25%", func(s *story) { s.give(10, setsUser, "old", "a") }, ""},
		{"neither surge nor unavailable", "then one may be away, or nothing could move", "0", "0", func(s *story) { s.give(10, setsUser, "old", "a") }, ""},
		{"a user took one", "what others take is not the controllers' fault, and may be unknown to them", "1", "1", func(s *story) {
			s.give(10, user, "old", "b")
			s.give(10.05, setsUser, "old", "a")
		}, ""},
		{"fewer are wanted", "all above two may go", "1", "0", func(s *story) {
			s.write(9, user, "patch", "machinedeployments", object("dep").wants(2, 2).bounded("1", "0"))
			s.give(10, setsUser, "old", "a", "b")
		}, ""},
		{"the deployment is deleted", "its machines go with it", "1", "0", func(s *story) {
			s.write(9, user, "delete", "machinedeployments", deployment("1", "0").held().deletedAt(9))
			s.give(10, setsUser, "old", "a", "b")
		}, ""},
		{"set of nobody's template", "no user wrote it", "1", "0", func(s *story) {
			s.write(9, setsUser, "create", "machinesets", of("odd", 0).with(func(o *Object) { o.Spec.Template.Spec.Class.Name = "odd" }))
		}, "no-roll"},
		{"set of a user's template", "it is what was asked for", "1", "0", func(s *story) {
			recipe := func(o *Object) { o.Spec.Template.Spec.Class.Name = "next" }
			s.write(9, user, "patch", "machinedeployments", deployment("1", "0").with(recipe))
			s.write(9.5, setsUser, "create", "machinesets", of("next", 0).with(recipe))
		}, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := &story{Run: Run{Sets: setsUser, Machines: mcUser}}
			s.write(0, user, "create", "machinedeployments", deployment(tc.surge, tc.unavailable))
			s.write(0.2, setsUser, "create", "machinesets", of("old", 4))
			s.write(0.3, setsUser, "create", "machinesets", of("new", 0))
			s.count(1, "old", "a", "b", "c", "d")
			tc.tell(s)
			expect(t, s, tc.reason, tc.broken)
		})
	}
}

// TestRestore judges the end of an instance after etcd was put back, by the history that was cut off and by that which goes
// on.
func TestRestore(t *testing.T) {
	m := machineOf("set", "m").running()
	list := func(s *story, o ...Object) {
		w := s.write(6, "census", "list", "machines", Object{})
		for i := range o {
			o[i].Metadata.ResourceVersion = "2"
		}
		w.Object, w.Items = Object{}, o
	}
	tests := []struct {
		name, reason string
		tell         func(s *story)
		broken       string
	}{
		{"wanted in both", "neither history has the machine deleted", func(s *story) { list(s, m) }, "wanted-stays"},
		{"deleted in the first", "who runs on may know that it was deleted", func(s *story) {
			s.write(4, user, "delete", "machines", m.deletedAt(4))
			list(s, m)
		}, ""},
		{"deleted in the second", "a user deleted it after the restore", func(s *story) {
			list(s, m)
			s.version = 2
			s.write(7, user, "delete", "machines", m.deletedAt(7))
		}, ""},
		{"in the first only", "the instance is nobody's after the restore", func(s *story) { list(s) }, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s := &story{Run: Run{Sets: setsUser, Machines: mcUser}}
			s.write(0, user, "create", "machinesets", object("set").wants(1, 1))
			s.write(1, setsUser, "create", "machines", m)
			s.instance("i-1", "m", 2, 8)
			s.event(5.5, Event{What: Mark, Mark: Restored, From: at(3), Until: at(5)})
			tc.tell(s)
			expect(t, s, tc.reason, tc.broken)
		})
	}
}

// TestSabotageIsSeen: what proves the judge of a run finds its occasions in a run that has everything, and is seen.
func TestSabotageIsSeen(t *testing.T) {
	s := life()
	s.write(20, user, "create", "machinedeployments", object("dep").wants(4, 1).bounded("1", "1"))
	s.write(20.2, setsUser, "create", "machinesets", object("old").wants(4, 1).ownedBy("MachineDeployment", "dep"))
	s.count(21, "old", "a", "b", "c", "d")
	s.give(30, setsUser, "old", "a")
	s.event(9.8, Event{What: Mark, Mark: AtRest}) // nothing is there
	for i := range s.Writes {                     // room for the versions of falsified writes
		if o := &s.Writes[i].Object; o.Metadata.ResourceVersion != "" {
			o.Metadata.ResourceVersion += "0"
		}
	}
	proofs := Prove(s.run())
	for i, statement := range statements {
		if proofs[i] != Seen {
			t.Errorf("the sabotage of %s is %q, want %q", statement.name, proofs[i], Seen)
		}
	}
	if len(saboteurs) != len(statements) || slices.Contains(Prove(Run{}), Unseen) {
		t.Errorf("a run without anything: %v", Prove(Run{}))
	}
}
