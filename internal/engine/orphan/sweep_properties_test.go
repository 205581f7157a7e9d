package orphan_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/internal/engine/limits"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// few UIDs, names and IDs, so that they collide all the time.
var few = []string{"", "a", "b", "c", "d"}

func anInstance(t *rapid.T) provider.Instance {
	pick := func(what string) string { return rapid.SampledFrom(few).Draw(t, what) }
	id := pick("id")
	i := provider.Instance{ID: id, UID: pick("uid"), Name: pick("name"), Namespace: pick("namespace")}
	i.Owner = rapid.SampledFrom([]string{us, us, us, "them", ""}).Draw(t, "owner")
	if id != "" {
		i.ProviderID = rapid.SampledFrom([]string{"aws:///eu-1a/", "aws:///eu-1/", "kubemark://"}).Draw(t, "format") + id
	}
	i.State = rapid.SampledFrom([]provider.State{provider.Pending, provider.Running, provider.Stopped, provider.Stopping, provider.Terminated}).Draw(t, "state")
	return i
}

func aMachine(t *rapid.T) orphan.Machine {
	pick := func(what string) string { return rapid.SampledFrom(few).Draw(t, what) }
	m := orphan.Machine{UID: pick("uid") + "u", Name: pick("name") + "n"}
	if rapid.Bool().Draw(t, "tagged alike") {
		m.UID, m.Name = m.UID[:len(m.UID)-1], m.Name[:len(m.Name)-1]
	}
	if id := pick("recorded"); id != "" {
		m.ProviderID = "aws:///eu-9/" + id
	}
	m.Elsewhere = rapid.IntRange(0, 3).Draw(t, "elsewhere") == 0
	m.Here = !m.Elsewhere
	m.Early = rapid.IntRange(0, 4).Draw(t, "early") == 0
	m.Deleting = rapid.IntRange(0, 4).Draw(t, "deleting") == 0
	return m
}

// For any events of clouds, machines and listings: no instance is removed that a machine may own, none
// because of an untrusted listing, none before its time, never more than the cap within an hour, and never
// more than the share.
func TestSweepProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := orphan.DefaultPolicy()
		p.Owner = rapid.SampledFrom([]string{us, us, us, ""}).Draw(t, "our identity")
		p.Namespace = rapid.SampledFrom(few[:2]).Draw(t, "namespace")
		p.Named = rapid.SliceOfN(rapid.SampledFrom([]string{"aws:///eu-1a/a", "kubemark://b"}), 0, 1).Draw(t, "named")
		p.PerHour = rapid.IntRange(0, 3).Draw(t, "cap")
		p.Limit = limits.Limit{Percent: rapid.IntRange(1, 100).Draw(t, "share"), Min: 1}
		p.Untagged = rapid.Bool().Draw(t, "untagged")
		p.ReportOnly = rapid.IntRange(0, 9).Draw(t, "report only") == 0
		at, memory, looks := now, orphan.Memory{}, map[string]int{}
		var begun []time.Time
		for range rapid.IntRange(1, 12).Draw(t, "listings") {
			at = at.Add(time.Duration(rapid.IntRange(1, 40).Draw(t, "minutes")) * time.Minute)
			machines := rapid.SliceOfN(rapid.Custom(aMachine), 0, 4).Draw(t, "machines")
			l := orphan.Listing{Cluster: "blue", Instances: rapid.SliceOfN(rapid.Custom(anInstance), 0, 6).Draw(t, "instances")}
			if rapid.IntRange(0, 5).Draw(t, "fails") == 0 {
				l.Err = errors.New("page 2 failed")
			}
			plan := orphan.Sweep(at, memory, l, machines, p)
			if l.Err != nil && (plan.Doubt == "" || len(plan.Verdicts) > 0) {
				t.Fatalf("a failed listing is believed: %+v", plan)
			}
			if plan.Doubt == "" {
				looks = count(looks, plan)
			}
			started := checkRemovals(t, plan, memory, machines, at, p)
			checkShare(t, plan, started, len(l.Instances), p)
			for _, v := range started {
				if looks[v.Key] < 3 {
					t.Fatalf("%s is removed after %d looks", v.Key, looks[v.Key])
				}
			}
			memory = plan.Memory
			for _, v := range started {
				memory = memory.Begin(v, at)
				begun = append(begun, at)
			}
			begun = slices.DeleteFunc(begun, func(b time.Time) bool { return at.Sub(b) >= time.Hour })
			if len(begun) > p.PerHour {
				t.Fatalf("%d removals within an hour, and %d may be", len(begun), p.PerHour)
			}
			if rapid.Bool().Draw(t, "one is done") {
				for k, s := range memory.Suspects {
					if s.Removing {
						memory = memory.Finish(k)
						break
					}
				}
			}
		}
	})
}

// count adds a listing to the listings in a row with each suspect.
func count(looks map[string]int, plan orphan.Plan) map[string]int {
	out := map[string]int{}
	for _, v := range plan.Verdicts {
		if v.Fate != orphan.Keep {
			out[v.Key] = looks[v.Key] + 1
		}
	}
	return out
}

// mine says, independently of the code, whether we created the instance for a machine that we would see.
func mine(i provider.Instance, p orphan.Policy) bool {
	return p.Owner == us && i.Owner == us && (p.Namespace == "" || i.Namespace == p.Namespace)
}

// checkRemovals returns the removals that begin.
func checkRemovals(t *rapid.T, plan orphan.Plan, before orphan.Memory, machines []orphan.Machine, at time.Time, p orphan.Policy) (started []orphan.Verdict) {
	for _, v := range plan.Verdicts {
		if v.Fate != orphan.Remove {
			continue
		}
		if why := ownedBy(v.Instance, machines); why != "" {
			t.Fatalf("%s is removed although %s", v.Key, why)
		}
		if v.Ref.UID != "" && v.Ref.UID != v.Instance.UID {
			t.Fatalf("%s is removed by the UID of another, %+v", v.Key, v.Ref)
		}
		if slices.ContainsFunc(machines, func(m orphan.Machine) bool {
			return v.Ref.UID != "" && m.UID == v.Ref.UID || v.Ref.Name != "" && m.Name == v.Ref.Name
		}) && !v.Begun {
			t.Fatalf("%s is removed with all that a living machine has: %+v", v.Key, v.Ref)
		}
		if v.Begun {
			continue
		}
		if v.Instance.UID == "" && !p.Untagged {
			t.Fatalf("%s is removed although it was not made for a machine", v.Key)
		}
		named := slices.Contains(p.Named, v.Instance.ProviderID)
		if !named && !mine(v.Instance, p) {
			t.Fatalf("%s is removed, which %q made for namespace %q: %+v", v.Key, v.Instance.Owner, v.Instance.Namespace, p)
		}
		old, ok := before.Suspects[v.Key]
		if !ok || at.Sub(old.Since) < p.Grace || p.ReportOnly || (plan.Refusal != "" || len(machines) < p.MinMachines) && !named {
			t.Fatalf("%s is removed before its time, or against a limit: %+v", v.Key, old)
		}
		started = append(started, v)
	}
	return started
}

// checkShare: if any removal begins that no user has named, at most the share, rounded down, or one of the
// listed instances is unwanted and created by us.
func checkShare(t *rapid.T, plan orphan.Plan, started []orphan.Verdict, listed int, p orphan.Policy) {
	named := func(v orphan.Verdict) bool { return slices.Contains(p.Named, v.Instance.ProviderID) }
	begins, unwanted := 0, 0
	for _, v := range started {
		if !named(v) {
			begins++
		}
	}
	for _, v := range plan.Verdicts {
		if v.Fate != orphan.Keep && !v.Begun && len(v.Left) == 0 && mine(v.Instance, p) {
			unwanted++
		}
	}
	if begins > 0 && unwanted > 1 && 100*unwanted > p.Limit.Percent*listed {
		t.Fatalf("%d removals begin, although %d of %d are unwanted and %d %% may be", begins, unwanted, listed, p.Limit.Percent)
	}
}

// ownedBy says, independently of the code, why an instance may not be removed.
func ownedBy(i provider.Instance, machines []orphan.Machine) string {
	for _, m := range machines {
		recorded := i.ID != "" && m.ProviderID == "aws:///eu-9/"+i.ID
		tied := i.UID != "" && m.UID == i.UID || i.UID == "" && i.Name != "" && i.Name == m.Name
		switch {
		case recorded:
			return fmt.Sprintf("machine %q has recorded it", m.Name)
		case tied && (m.Early || m.Deleting || m.ProviderID == ""):
			return fmt.Sprintf("machine %q is being made or removed", m.Name)
		}
	}
	return ""
}

// The same facts give the same plan, and computing it changes nothing.
func TestSweepIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		machines := rapid.SliceOfN(rapid.Custom(aMachine), 0, 4).Draw(t, "machines")
		l := orphan.Listing{Cluster: "blue", Instances: rapid.SliceOfN(rapid.Custom(anInstance), 0, 6).Draw(t, "instances")}
		m := orphan.Sweep(now, orphan.Memory{}, l, machines, orphan.DefaultPolicy()).Memory
		was := fmt.Sprintf("%+v %+v %+v", m, l, machines)
		first := fmt.Sprintf("%+v", flat(orphan.Sweep(later, m, l, machines, orphan.DefaultPolicy())))
		second := fmt.Sprintf("%+v", flat(orphan.Sweep(later, m, l, machines, orphan.DefaultPolicy())))
		if first != second {
			t.Fatalf("first\n%s\nthen\n%s", first, second)
		}
		if is := fmt.Sprintf("%+v %+v %+v", m, l, machines); is != was {
			t.Fatalf("the arguments were\n%s\nand are\n%s", was, is)
		}
	})
}

// flat leaves out pointers, which differ.
func flat(p orphan.Plan) orphan.Plan {
	for n := range p.Verdicts {
		p.Verdicts[n].Machine = nil
	}
	return p
}
