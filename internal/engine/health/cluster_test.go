package health

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
)

// gone deletes the nodes of the first n machines, young lets them never have had one.
func gone(n int) func(int, *Target) {
	return func(i int, t *Target) {
		t.Joined = lifecycle.Joined{Cluster: "ours", Node: t.NodeName, UID: "node"}
		if i < n {
			t.Node = nil
		}
	}
}

func young(i int, t *Target) {
	t.NodeName, t.Node = "", nil
}

// TestSafetyForeignCluster: if another cluster answers than the one that the machines joined, none of its
// facts is a reason to remediate them.
func TestSafetyForeignCluster(t *testing.T) {
	sick := func(i int, t *Target) { sickFirst(5)(i, t); gone(0)(i, t) }
	accepted := func(i int, t *Target) { gone(5)(i, t); t.Joined.Accepted = "theirs" }
	failed := func(i int, t *Target) { gone(5)(i, t); t.Failed = true }
	starting := func(i int, t *Target) { young(i, t); t.Joined.Cluster = "ours" }
	elsewhere := lifecycle.ForeignTarget("ours", "theirs", "")
	for _, c := range []struct {
		reason  string
		edit    func(int, *Target)
		cluster Cluster
		waits   lifecycle.Reason
		acts    int
	}{
		{"the cluster that they joined lacks their nodes, and has those of others", gone(5), Cluster{UID: "ours", Recorded: 20, There: 15}, "", 5},
		{"another cluster lacks their nodes", gone(5), Cluster{UID: "theirs"}, "TargetClusterReplaced", 0},
		{"one without kube-system", gone(5), Cluster{UID: lifecycle.NoCluster}, "TargetClusterReplaced", 0},
		{"its nodes of the same names are not theirs", sick, Cluster{UID: "theirs"}, "TargetClusterReplaced", 0},
		{"machines that failed wait, too: their pods are elsewhere", failed, Cluster{UID: "theirs"}, "TargetClusterReplaced", 0},
		{"machines that were to join another one", starting, Cluster{UID: "theirs"}, "TargetClusterReplaced", 0},
		{"machines without a record, and no other joined this one", young, Cluster{UID: "theirs", Elsewhere: elsewhere}, "TargetClusterReplaced", 0},
		{"machines without a record, and nothing is known", young, Cluster{UID: "theirs"}, "", 5},
		{"a person says that they are here now", accepted, Cluster{UID: "theirs", Recorded: 20, There: 15}, "", 5},
		{"the identity may not be read", gone(5), Cluster{Recorded: 20, There: 15}, "", 5},
		{"it could not be read for the moment", sick, Cluster{Unknown: "timeout"}, "TargetClusterUnknown", 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := seen
			s.Cluster = c.cluster
			p := fleet(readyCheck(limit("100%")), names("m", 5), c.edit).plan(t0, s, Memory{})
			if len(done(p)) != c.acts || p.Distrust.Reason != c.waits {
				t.Errorf("%s: %v, waits for %q", c.reason, done(p), p.Distrust.Reason)
			}
			if c.waits == "" {
				return
			}
			if p.Due.IsZero() || p.Due.After(t0.Add(time.Minute)) || p.Remaining != 0 || !strings.Contains(p.Sentence, p.Distrust.Text) || len(p.Storms) > 0 {
				t.Errorf("%s: looked at again at %s, %d may follow, %d storms: %s", c.reason, p.Due, p.Remaining, len(p.Storms), p.Sentence)
			}
		})
	}
}

// TestSafetyNodesMissingTogether: if fewer than half of the recorded nodes exist, a missing node is no reason
// to remediate its machine.
func TestSafetyNodesMissingTogether(t *testing.T) {
	failed := func(i int, t *Target) { young(i, t); t.Failed = true }
	sick := func(i int, t *Target) { sickFirst(5)(i, t); gone(0)(i, t) }
	for _, c := range []struct {
		reason  string
		edit    func(int, *Target)
		cluster Cluster
		acts    int
	}{
		{"all of the fleet are missing", gone(5), Cluster{UID: "ours", Recorded: 5}, 0},
		{"half of the others are there", gone(5), Cluster{UID: "ours", Recorded: 9, There: 4}, 5},
		{"fewer are", gone(5), Cluster{UID: "ours", Recorded: 10, There: 4}, 0},
		{"also where the cluster does not say which one it is", gone(5), Cluster{Recorded: 5}, 0},
		{"machines that wait for their node wait on", young, Cluster{UID: "ours", Recorded: 5}, 0},
		{"nodes that are there and sick", sick, Cluster{UID: "ours", Recorded: 10, There: 4}, 5},
		{"machines that failed before they joined", failed, Cluster{UID: "ours", Recorded: 10, There: 4}, 5},
		{"two were seen to be deleted", gone(5), Cluster{UID: "ours", Recorded: 5, Deleted: map[types.UID]bool{"uid-m00": true, "uid-m03": true}}, 2},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := seen
			s.Cluster = c.cluster
			p := fleet(readyCheck(limit("100%")), names("m", 5), c.edit).plan(t0, s, Memory{})
			if waits := p.Distrust.Reason == lifecycle.ReasonNodeDoubted; len(done(p)) != c.acts || waits != (c.acts < 5) {
				t.Errorf("%s: %v, waits for %q", c.reason, done(p), p.Distrust.Text)
			}
		})
	}
}

// TestGather: the facts about a cluster in the records of all machines.
func TestGather(t *testing.T) {
	a, b, leaving := linked(gone1("ours")), linked(gone1("ours")), linked(gone1("ours"))
	b.NodeName, leaving.Deleting = "other", true
	all := []Target{a, b, leaving}
	for _, uid := range []string{"ours", "theirs", lifecycle.NoCluster, ""} {
		c := Cluster{UID: uid}
		c.Gather(all, map[string]bool{"n": true})
		if c.Recorded != 2 || c.There != 1 || (c.Elsewhere != "") != (uid == "theirs" || uid == lifecycle.NoCluster) {
			t.Errorf("%s: %+v", uid, c)
		}
	}
	all[1].Joined.Accepted = "theirs"
	c := Cluster{UID: "theirs"}
	if c.Gather(all, nil); c.Elsewhere != "" {
		t.Errorf("a person says that one is here: %q", c.Elsewhere)
	}
}

func gone1(cluster string) func(*Target) {
	return func(t *Target) { t.Joined.Cluster = cluster }
}
