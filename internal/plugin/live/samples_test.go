package live

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/replicas"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func member(available, deleting bool) rollout.Machine {
	return rollout.Machine{Member: replicas.Member{Usable: available, Ready: available, ReadySince: noon.Add(-time.Hour), Deleting: deleting}}
}

// TestSamplesOfADeployment: a sample has the machines of each set, and is kept only if it differs from the last one.
func TestSamplesOfADeployment(t *testing.T) {
	f := newFeed(collect.Clusters{}, collect.Question{}, clock.RealClock{})
	d := &v1alpha1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{UID: "d"}}
	old := rollout.Set{UID: "old", Machines: []rollout.Machine{member(true, false), member(true, true), member(false, false)}}
	at := func(second int, sets ...rollout.Set) {
		r := explain.Rollout{Sets: sets}
		f.sample(noon.Add(time.Duration(second)*time.Second), []collect.Explained{{Object: d, Rollout: &r}, {Object: d}})
	}
	at(0, old, rollout.Set{UID: "new"})
	at(1, old, rollout.Set{UID: "new"})
	at(2, rollout.Set{UID: "new", Machines: []rollout.Machine{member(true, false)}}, old)
	want := []Sample{
		{At: noon, Sets: []SetSample{{ID: "new"}, {ID: "old", Machines: 3, Available: 1, Deleting: 1}}},
		{At: noon.Add(2 * time.Second), Sets: []SetSample{{ID: "new", Machines: 1, Available: 1}, {ID: "old", Machines: 3, Available: 1, Deleting: 1}}},
	}
	if diff := cmp.Diff(want, f.samples("d")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	f.publish(noon, table(Row{ID: "d"}), nil, nil)
	if len(f.tracks) != 1 {
		t.Error("the samples of a deployment that exists are lost")
	}
	if f.publish(noon, nil, nil, nil); len(f.tracks) != 0 {
		t.Error("the samples of a deployment that does not exist are kept")
	}
}

// TestSamplesAreBounded: the newest samples are all kept, and older ones the less, the older they are.
func TestSamplesAreBounded(t *testing.T) {
	k := tracks{}
	const n = 5000
	for i := range n {
		k.add("d", Sample{At: noon.Add(time.Duration(i) * time.Second), Sets: []SetSample{{ID: "s", Machines: i}}})
	}
	all := k["d"]
	if len(all) > mostSamples || all[0].Sets[0].Machines != 0 {
		t.Fatalf("%d samples from machine %d on, want at most %d from 0 on", len(all), all[0].Sets[0].Machines, mostSamples)
	}
	for i, s := range all[len(all)-mostSamples/2:] {
		if want := n - mostSamples/2 + i; s.Sets[0].Machines != want {
			t.Fatalf("sample %d has %d machines, want %d", i, s.Sets[0].Machines, want)
		}
	}
	if !slices.IsSortedFunc(all, func(a, b Sample) int { return a.At.Compare(b.At) }) {
		t.Error("samples are not in order")
	}
}

// TestPast: creation times show when the machines of the sets were created, up to the first recorded sample.
func TestPast(t *testing.T) {
	set := func(uid types.UID, created ...int) rollout.Set {
		s := rollout.Set{UID: uid}
		for _, c := range created {
			s.Machines = append(s.Machines, rollout.Machine{Member: replicas.Member{Created: noon.Add(time.Duration(c) * time.Minute)}})
		}
		return s
	}
	got := Past([]rollout.Set{set("b", 5, 3, 9), set("a", 1, 1, 3)}, noon.Add(9*time.Minute))
	sample := func(minute, a, b int) Sample {
		return Sample{At: noon.Add(time.Duration(minute) * time.Minute), Created: true, Sets: []SetSample{{ID: "a", Machines: a}, {ID: "b", Machines: b}}}
	}
	if diff := cmp.Diff([]Sample{sample(1, 2, 0), sample(3, 3, 1), sample(5, 3, 2)}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var many []int
	for i := range 3000 {
		many = append(many, i)
	}
	got = Past([]rollout.Set{set("a", many...)}, noon.Add(24*365*time.Hour))
	if n := len(got); n > mostSamples+1 || got[n-1].Sets[0].Machines != 3000 {
		t.Errorf("%d samples, the last with %d machines, want at most %d and 3000", n, got[n-1].Sets[0].Machines, mostSamples)
	}
}
