package controlplane

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// machine parses a machine: its name, and the words unready, outdated, deleting, failed and foreign. Machines are created in the order of the calls.
func machine(text string, age int) Machine {
	words := strings.Fields(text)
	m := Machine{Name: words[0], Created: start.Add(time.Duration(age) * time.Minute), Ready: true}
	m.Index, _ = Index(m.Name)
	for _, word := range words[1:] {
		switch word {
		case "unready":
			m.Ready = false
		case "outdated":
			m.Outdated = true
		case "deleting":
			m.Deleting = true
		case "foreign":
			m.Foreign = true
		case "failed":
			m.Ready, m.Failure = false, "quota"
		default:
			panic(word)
		}
	}
	return m
}

func set(strategy Strategy, machines ...string) Set {
	s := Set{Replicas: 3, Strategy: strategy, Active: true}
	for i, text := range machines {
		s.Machines = append(s.Machines, machine(text, i))
	}
	return s
}

func inactive(s Set) Set {
	s.Active = false
	return s
}

// said is the text of the decisions that are not Keep.
func said(p Plan) string {
	var out []string
	for _, d := range p.Decisions {
		if d.Step != Keep {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s %s", d.Index, d.Step, d.Reason, d.Machine)))
		}
	}
	return strings.Join(out, "; ")
}

// of is the status and the reason of one condition.
func of(p Plan, kind string) string {
	i := slices.IndexFunc(p.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
	c := p.Status.Conditions[i]
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message))
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		about string
		set   Set
		want  string
	}{
		{"all is well", set(RollingUpdate, "m-0", "m-1", "m-2"), ""},
		{"indexes need not begin at 0", set(RollingUpdate, "m-3", "m-4", "m-5"), ""},
		{"all are outdated: one index at a time", set(RollingUpdate, "m-0 outdated", "m-1 outdated", "m-2 outdated"), "0 Create Replacing; 1 Wait WaitForOtherIndex; 2 Wait WaitForOtherIndex"},
		{"the replacement is not ready", set(RollingUpdate, "m-0 outdated", "m-1", "m-2", "n-0 unready"), "0 Wait WaitForReady n-0"},
		{"K8: an unready old machine stays as well", set(RollingUpdate, "m-0 outdated unready", "m-1", "m-2", "n-0 unready"), "0 Wait WaitForReady n-0"},
		{"the replacement is ready", set(RollingUpdate, "m-0 outdated", "m-1 outdated", "m-2", "n-0"), "0 Delete Replaced m-0; 1 Wait WaitForOtherIndex"},
		{"the old machine is being removed", set(RollingUpdate, "m-0 outdated deleting", "m-1 outdated", "m-2", "n-0"), "0 Wait WaitForRemoval m-0; 1 Wait WaitForOtherIndex"},
		{"the template changed after the replacement was ready", set(RollingUpdate, "m-0 outdated", "m-1", "m-2", "n-0 outdated"), "0 Delete Superseded m-0"},
		{"the template changed while the replacement started: that one goes, the old one stays ready", set(RollingUpdate, "m-0 outdated", "m-1", "m-2", "n-0 outdated unready"), "0 Delete Superseded n-0"},
		{"no machine of the index is ready", set(RollingUpdate, "m-0 outdated unready", "m-1", "m-2", "n-0 outdated unready"), "0 Wait WaitForUser n-0"},
		{"of two old machines the unready one goes first", set(RollingUpdate, "m-0 outdated", "m-1", "m-2", "x-0 outdated unready", "n-0"), "0 Delete Replaced x-0"},
		{"one is missing", set(RollingUpdate, "m-0", "m-2"), "1 Create Missing"},
		{"K5: one is missing, and others are outdated: the missing one first, and one replacement", set(RollingUpdate, "m-0 outdated", "m-1 outdated"), "0 Create Replacing; 1 Wait WaitForOtherIndex; 2 Create Missing"},
		{"two are missing", set(RollingUpdate, "m-1"), "0 Create Missing; 2 Create Missing"},
		{"a user deletes an up-to-date machine: it is replaced first", set(RollingUpdate, "m-0", "m-1 deleting", "m-2"), "1 Create Replacing"},
		{"a user deletes two", set(RollingUpdate, "m-0 deleting", "m-1 deleting", "m-2"), "0 Create Replacing; 1 Wait WaitForOtherIndex"},
		{"a user deletes one during a replacement, which goes on", set(RollingUpdate, "m-0 outdated", "m-1 deleting", "m-2", "n-0"), "0 Delete Replaced m-0; 1 Wait WaitForOtherIndex"},
		{"two ready machines of one index: the oldest is deleted", set(RollingUpdate, "m-0", "m-1", "m-2", "n-0"), "0 Delete Surplus m-0"},
		{"two indexes have a replacement: one deletion at a time", set(RollingUpdate, "m-0 outdated", "m-1 outdated", "m-2", "n-0", "n-1"), "0 Delete Replaced m-0; 1 Wait WaitForOtherIndex m-1"},
		{"another index is being removed", set(RollingUpdate, "m-0 outdated deleting", "m-1 outdated", "m-2", "n-0", "n-1"), "0 Wait WaitForRemoval m-0; 1 Wait WaitForOtherIndex m-1"},
		{"K3: the only machine of an index has failed", set(RollingUpdate, "m-0 failed", "m-1", "m-2"), "0 Wait ReplacementFailed m-0"},
		{"not active", inactive(set(RollingUpdate, "m-0 outdated", "m-1", "m-2")), "0 Wait WaitForActivation"},
		{"K4: another owner", set(RollingUpdate, "m-0 outdated foreign", "m-1", "m-2"), "0 Wait WaitForDegradation"},
		{"Recreate", set(Recreate, "m-0 outdated", "m-1", "m-2"), "0 Wait WaitForDegradation"},

		{"OnDelete: a user deletes", set(OnDelete, "m-0 outdated", "m-1", "m-2"), "0 Wait WaitForUser m-0"},
		{"OnDelete: all that users delete are replaced at once", set(OnDelete, "m-0 outdated deleting", "m-1 deleting", "m-2 outdated"), "0 Create Replacing; 1 Create Replacing; 2 Wait WaitForUser m-2"},
		{"OnDelete: missing", set(OnDelete, "m-0", "m-1"), "2 Create Missing"},
		{"OnDelete: the replacement is not ready", set(OnDelete, "m-0 deleting", "m-1", "m-2", "n-0 unready"), "0 Wait WaitForReady n-0"},
		{"OnDelete: the old machine is being removed", set(OnDelete, "m-0 deleting", "m-1", "m-2", "n-0"), "0 Wait WaitForRemoval m-0"},
		{"K24: OnDelete deletes no surplus, and stops", set(OnDelete, "m-0", "m-1", "m-2 deleting", "n-0"), "0 Wait WaitForDegradation; 2 Wait WaitForDegradation"},
		{"OnDelete: an outdated machine beside its replacement is a user's to delete", set(OnDelete, "m-0 outdated", "m-1", "m-2", "n-0"), "0 Wait WaitForUser m-0"},
	} {
		p := Decide(c.set)
		if got := said(p); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.about, got, c.want)
		}
		slices.Reverse(c.set.Machines)
		if again := said(Decide(c.set)); again != said(p) {
			t.Errorf("%s: in another order %s", c.about, again)
		}
	}
}

func TestConditions(t *testing.T) {
	nodes := set(RollingUpdate, "m-0", "m-1", "m-2")
	nodes.UnmanagedNodes = 2
	for _, c := range []struct {
		about                            string
		set                              Set
		counts                           string // replicas, ready, updated, unavailable
		available, degraded, progressing string
	}{
		{"all is well", set(RollingUpdate, "m-0", "m-1", "m-2"), "3 3 3 0", "True AllReplicasAvailable", "False AsExpected", "False AllReplicasUpdated"},
		{"outdated", set(RollingUpdate, "m-0 outdated", "m-1", "m-2"), "3 3 2 0", "True AllReplicasAvailable", "False AsExpected", "True NeedsUpdateReplicas Observed 1 replica(s) in need of update"},
		{"K17: unready counts as in need of update", set(RollingUpdate, "m-0 unready", "m-1", "m-2"), "3 2 2 1", "False UnavailableReplicas Missing 1 available replica(s)", "False AsExpected", "True NeedsUpdateReplicas Observed 1 replica(s) in need of update"},
		{"K17: nothing old to remove", set(RollingUpdate, "m-0", "m-1", "m-2", "n-0"), "4 4 4 0", "True AllReplicasAvailable", "False AsExpected", "True ExcessReplicas Waiting for 0 old replica(s) to be removed"},
		{"missing", set(RollingUpdate, "m-0", "m-1"), "2 2 2 1", "False UnavailableReplicas Missing 1 available replica(s)", "False AsExpected", "True NeedsUpdateReplicas Observed 1 replica(s) in need of update"},
		{"no machine", set(RollingUpdate), "0 0 0 3", "False UnavailableReplicas Missing 3 available replica(s)", "True NoReadyMachines", "True NeedsUpdateReplicas Observed 3 replica(s) in need of update"},
		{"none ready", set(RollingUpdate, "m-0 unready", "m-1 unready", "m-2 unready"), "3 0 0 3", "False UnavailableReplicas Missing 3 available replica(s)", "True NoReadyMachines No ready control plane machines found", "False OperatorDegraded"},
		{"unmanaged nodes", nodes, "3 3 3 0", "True AllReplicasAvailable", "True UnmanagedNodes Found 2 unmanaged node(s)", "False OperatorDegraded"},
		{"K7: an index in excess", set(RollingUpdate, "m-0", "m-1", "m-2", "x-20480"), "4 4 4 0", "True AllReplicasAvailable", "True ExcessIndexes Observed 1 index(es) in excess: x-20480", "False OperatorDegraded"},
		{"K24: an updated machine in excess", set(OnDelete, "m-0", "n-0", "m-1", "m-2"), "4 4 4 0", "True AllReplicasAvailable", "True ExcessUpdatedReplicas Observed 1 updated machine(s) in excess for index 0", "False OperatorDegraded"},
		{"a replacement has failed", set(RollingUpdate, "m-0 outdated", "m-1", "m-2", "n-0 failed"), "4 3 2 0", "True AllReplicasAvailable", "True FailedReplacement Observed 1 replacement machine(s) in error state", "False OperatorDegraded"},
		{"K3: it has failed alone", set(RollingUpdate, "m-0 failed", "m-1", "m-2"), "3 2 2 1", "False UnavailableReplicas Missing 1 available replica(s)", "False AsExpected", "True NeedsUpdateReplicas Observed 1 replica(s) in need of update"},
		{"another owner", set(RollingUpdate, "m-0 foreign", "m-1", "m-2"), "3 3 3 0", "True AllReplicasAvailable", "True MachinesAlreadyOwned Observed already owned machine(s) in target machines", "False AllReplicasUpdated"},
		{"another owner of a set that is not active", inactive(set(RollingUpdate, "m-0 foreign", "m-1", "m-2")), "3 3 3 0", "True AllReplicasAvailable", "False AsExpected", "False AllReplicasUpdated"},
		{"Recreate of a set that is not active", inactive(set(Recreate, "m-0", "m-1", "m-2")), "3 3 3 0", "True AllReplicasAvailable", "False AsExpected", "False AllReplicasUpdated"},
		{"two in excess: the lower index", set(OnDelete, "m-2", "n-2", "m-0", "m-1", "n-1"), "5 5 5 0", "True AllReplicasAvailable", "True ExcessUpdatedReplicas Observed 1 updated machine(s) in excess for index 1", "False OperatorDegraded"},
		{"Recreate", set(Recreate, "m-0", "m-1", "m-2"), "3 3 3 0", "True AllReplicasAvailable", `True InvalidStrategy invalid value for spec.strategy.type: update strategy "Recreate" is not supported`, "False AllReplicasUpdated"},
		{"an unknown strategy", set("Often", "m-0", "m-1", "m-2"), "3 3 3 0", "True AllReplicasAvailable", "True InvalidStrategy invalid value for spec.strategy.type: unknown update strategy: Often", "False AllReplicasUpdated"},
	} {
		p := Decide(c.set)
		s := p.Status
		if got := fmt.Sprintf("%d %d %d %d", s.Replicas, s.Ready, s.Updated, s.Unavailable); got != c.counts {
			t.Errorf("%s: counts %s, want %s", c.about, got, c.counts)
		}
		for kind, want := range map[string]string{Available: c.available, Degraded: c.degraded, Progressing: c.progressing} {
			if got := of(p, kind); got != want {
				t.Errorf("%s: %s is %q, want %q", c.about, kind, got, want)
			}
		}
	}
}

func TestReady(t *testing.T) {
	now := start.Add(time.Hour)
	for _, c := range []struct {
		about   string
		phase   Phase
		node    Node
		ready   bool
		recheck time.Duration
	}{
		{"ready", Running, Node{Found: true, Ready: true, Since: start}, true, 0},
		{"no node", Running, Node{}, false, 0},
		{"not running yet", OtherPhase, Node{Found: true, Ready: true, Since: start}, false, 0},
		{"it reboots", Running, Node{Found: true, Since: now.Add(-5 * time.Minute)}, true, 15 * time.Minute},
		{"for too long", Running, Node{Found: true, Since: now.Add(-20 * time.Minute)}, false, 0},
		{"since an unknown time", Running, Node{Found: true}, false, 0},
		{"under deletion, ready", Deleting, Node{Found: true, Ready: true}, true, 0},
		{"under deletion, it reboots", Deleting, Node{Found: true, Since: now}, false, 0},
	} {
		if ready, recheck := Ready(now, c.phase, c.node); ready != c.ready || recheck != c.recheck {
			t.Errorf("%s: %v %s, want %v %s", c.about, ready, recheck, c.ready, c.recheck)
		}
	}
}

func TestIndex(t *testing.T) {
	for name, want := range map[string]int32{"a-master-3": 3, "a-master-20480": 20480, "a-master-03": 3, "master3": -1, "a-master-b": -1, "a-master-": -1, "a-3000000000": -1, "7": 7} {
		got, ok := Index(name)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
