package checker

import (
	"strings"
	"testing"
)

// seen is an object as a list shows it.
func (s *story) seen(resource string, o Object) {
	w := s.write(0, "test", "list", resource, Object{})
	w.Object, w.Items = Object{}, []Object{o}
}

// resting is a deployment of two machines at rest, and a set of one, with what is left at the infrastructure.
func resting(change func(resource string, o *Object), wanted int, left string) *story {
	s := &story{}
	see := func(resource string, o Object) {
		if change(resource, &o); o.Metadata.Name != "" {
			s.seen(resource, o)
		}
	}
	says := func(n int) func(*Object) {
		return func(o *Object) {
			st := &o.Status
			st.Replicas, st.ReadyReplicas, st.AvailableReplicas, st.UpdatedReplicas, st.ObservedGeneration = n, n, n, n, 1
		}
	}
	see("machinedeployments", object("dep").wants(2, 1).with(says(2)))
	see("machinesets", object("set").wants(2, 1).ownedBy("MachineDeployment", "dep").with(says(2)))
	see("machinesets", object("old").wants(0, 1).ownedBy("MachineDeployment", "dep").with(says(0)))
	see("machinesets", object("own").wants(1, 1).with(says(1)))
	for name, set := range map[string]string{"a": "set", "b": "set", "c": "own"} {
		see("machines", machineOf(set, name).running().with(func(o *Object) { o.Status.NodeRef.Name = name }))
		see("nodes", object(name).with(func(o *Object) {
			o.Metadata.UID += "-node"
			o.Status.Conditions = []Condition{{Type: "Ready", Status: "True"}}
		}))
		s.instance("i-"+name, name, 1, 0)
	}
	s.instance("i-foreign", "elsewhere", 1, 0)
	s.event(2, Event{What: Mark, Mark: Foreign, Instance: "i-foreign"})
	s.event(9, Event{What: Mark, Mark: AtRest, Wanted: &wanted, Message: left})
	return s
}

// TestRest judges a fleet at rest, and that fleet with one thing about it changed.
func TestRest(t *testing.T) {
	of := func(resource, name string, change func(*Object)) func(string, *Object) {
		return func(r string, o *Object) {
			if r == resource && o.Metadata.Name == name {
				change(o)
			}
		}
	}
	absent := func(o *Object) { o.Metadata.Name = "" }
	for _, test := range []struct {
		reason string
		change func(string, *Object)
		// want is how the complaint begins; empty: there is no complaint.
		want string
	}{
		{"nothing is wrong with it", func(string, *Object) {}, ""},
		{"the machine of one is gone", of("machines", "a", absent), "deployment dep has 1 machines and wants 2; instance i-a (a) has no machine; node a is of no machine; set set has 1"},
		{"a machine goes", of("machines", "c", func(o *Object) { *o = o.deletedAt(5) }), "machine c is being deleted"},
		{"a machine does not run", of("machines", "c", func(o *Object) { o.Status.Phase, o.Status.ErrorMessage = "Failed", "no room" }), `machine c is "Failed": no room`},
		{"a node is not there", of("nodes", "c", absent), `machine c has no node: it names "c"`},
		{"a node is not well", of("nodes", "c", func(o *Object) { o.Status.Conditions[0].Status = "Unknown" }), "machine c has node c, which is not Ready"},
		{"the other API names a machine's node by a label", of("machines", "c", func(o *Object) {
			o.Status.NodeRef.Name, o.Metadata.Labels["node"] = "", "c"
		}), ""},
		{"a machine belongs to what is not there", of("machinesets", "own", absent), "machine c is of no set"},
		{"a set wants more", of("machinesets", "own", func(o *Object) { *o = o.wants(2, 1) }), "set own has 1 machines and wants 2"},
		{"a set that wants none says nothing of that", of("machinesets", "old", func(o *Object) {
			o.APIVersion, o.Spec.Replicas = "machine.sapcloud.io/v1alpha1", nil
		}), ""},
		{"a set says something else", of("machinesets", "own", func(o *Object) { o.Status.AvailableReplicas = 0 }), "set own wants 1 and its status says [1 1 0]"},
		{"a set says it of what it was", of("machinesets", "own", func(o *Object) { o.Metadata.Generation = 2 }), "the status of set own is of generation 1, not of 2"},
		{"a set goes", of("machinesets", "own", func(o *Object) { *o = o.held().deletedAt(5) }), "set own is being deleted, with the finalizers [finalizer]"},
		{"a deployment counts machines of an older template", of("machinedeployments", "dep", func(o *Object) { o.Status.UpdatedReplicas = 1 }), "deployment dep wants 2 and its status says [2 1 2 2]"},
		{"a deployment is in two sets", func(r string, o *Object) {
			of("machines", "a", func(o *Object) { *o = o.ownedBy("MachineSet", "old") })(r, o)
			of("machinesets", "set", func(o *Object) { *o = o.wants(1, 1); o.Status.Replicas = 1 })(r, o)
		}, "deployment dep has machines of 2 sets"},
	} {
		expectRest(t, test.reason, resting(test.change, 3, ""), test.want)
	}
	same := func(string, *Object) {}
	expectRest(t, "a user wants more", resting(same, 4, ""), "there are 3 machines, 4 are wanted")
	expectRest(t, "a disk is left", resting(same, 3, "disk 7"), "without an instance: disk 7")
	twin := resting(same, 3, "")
	twin.instance("i-2", "a", 5, 0)
	expectRest(t, "a machine has another instance", twin, "machine a has 2 instances")
	none := resting(same, 3, "")
	none.instance("i-a", "a", 1, 5)
	expectRest(t, "an instance has ended", none, "machine a has 0 instances")
	later := resting(same, 3, "")
	later.instance("i-a", "a", 1, 9.5)
	expectRest(t, "it ended later", later, "")
	token := resting(same, 3, "")
	token.seen("secrets", object("bootstrap-token-1").with(func(o *Object) { o.Type = "bootstrap.kubernetes.io/token" }))
	expectRest(t, "nobody needs a token", token, "bootstrap token bootstrap-token-1 is left")
}

func expectRest(t *testing.T, reason string, s *story, want string) {
	t.Helper()
	got := Wrong(s.run(), Rest)
	if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
		t.Errorf("%s: %q, want %q", reason, got, want)
	}
}

// TestLives judges what a cloud tells of the lives of instances, in a run in which a machine needs no second one.
func TestLives(t *testing.T) {
	for _, test := range []struct {
		reason string
		tell   func(*story)
		want   string
	}{
		{"each machine had one", func(s *story) { s.instance("a", "u1", 1, 2); s.instance("b", "u2", 1, 0) }, ""},
		{"two at a time", func(s *story) { s.instance("a", "u1", 1, 0); s.instance("b", "u1", 1, 0) }, "machine u1 (u1) had two instances: a"},
		{"one after the other", func(s *story) { s.instance("a", "u1", 1, 2); s.instance("c", "u1", 3, 4) }, "machine u1 (u1) had two instances: a"},
		{"twice under one ID, as where IDs are names", func(s *story) { s.instance("a", "u1", 1, 2); s.instance("a", "u1", 3, 0) }, "machine u1 (u1) had two instances: a"},
		{"the first ended by itself, and its machine had not heard of it", func(s *story) {
			s.write(0, setsUser, "create", "machines", machineOf("set", "u1"))
			s.instance("a", "u1", 1, 0)
			s.event(2, Event{What: Died, Instance: "a"})
			s.instance("c", "u1", 3, 4)
		}, ""},
		{"the first ended by itself, and its machine had recorded it", func(s *story) {
			s.write(1.5, mcUser, "patch", "machines", machineOf("set", "u1").with(func(o *Object) { o.Spec.ProviderID = "cloud://a" }))
			s.instance("a", "u1", 1, 0)
			s.event(2, Event{What: Died, Instance: "a"})
			s.instance("c", "u1", 3, 4)
		}, "machine u1 (u1) had two instances: a"},
		{"what is another cluster's was ended", func(s *story) { s.instance("foreign", "u3", 1, 2) }, "instance foreign (u3), which is of another cluster, was ended"},
		{"what is another cluster's stays", func(s *story) { s.instance("foreign", "u3", 1, 0) }, ""},
		{"nobody can tell whose one is", func(s *story) { s.instance("a", "", 1, 0) }, "instance a () has no machine UID"},
	} {
		s := &story{Run: Run{Once: true}}
		s.event(0, Event{What: Mark, Mark: Foreign, Instance: "foreign"})
		test.tell(s)
		got := Wrong(s.run(), OneInstance, OthersKept)
		if (got == "") != (test.want == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}
