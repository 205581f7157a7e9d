package judge

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// mostExcuses may only be lowered.
const mostExcuses = 2

// TestExcusesAreFew counts the excuses in addition to the one tolerance, and checks that each is used at least once.
func TestExcusesAreFew(t *testing.T) {
	if n := len(excuses); n > mostExcuses {
		t.Errorf("%d excuses, and there may be %d: find the defect, or make the statement say what is meant", n, mostExcuses)
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	calls := 0
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(f, "_test.go") {
			calls += strings.Count(string(text), "j.excuse(")
		}
	}
	if calls < len(excuses) {
		t.Errorf("%d excuses are asked for, and %d are listed", calls, len(excuses))
	}
}

// scene is the world of a test.
type scene struct {
	now       time.Time
	objects   map[types.UID]client.Object
	instances []Instance
	outages   []Outage
	broken    []string
	room      bool
	judge     *Judge
}

func (s *scene) Now() time.Time { return s.now }

func (s *scene) All(example runtime.Object) (out []client.Object) {
	for _, o := range s.objects {
		if sameKind(o, example.(client.Object)) {
			out = append(out, o)
		}
	}
	return out
}
func (s *scene) Instances() []Instance    { return s.instances }
func (*scene) Parts() []Part              { return nil }
func (s *scene) Outages() []Outage        { return s.outages }
func (s *scene) Room() bool               { return s.room }
func (*scene) Anchors() []client.Object   { return nil }
func (s *scene) says(statement, _ string) { s.broken = append(s.broken, statement) }

func newScene() *scene {
	s := &scene{now: time.Unix(1_900_000_000, 0), objects: map[types.UID]client.Object{}}
	s.judge = New(s, Rules{
		APIs: []API{{
			Machine: &v1alpha1.Machine{}, Set: &v1alpha1.MachineSet{}, Deployment: &v1alpha1.MachineDeployment{},
			Finalizer: v1alpha1.FinalizerMachine, Waits: Waits{DrainTimeout: 2 * time.Hour, DetachTimeout: 2 * time.Minute},
		}},
		Checks: []client.Object{&lenient.MachineHealthCheck{}}, LookEvery: time.Second,
	}, func(statement, format string, _ ...any) { s.says(statement, format) })
	return s
}

// write changes an object; by is nil for users.
func (s *scene) write(by *Pass, o client.Object) client.Object {
	was := s.objects[o.GetUID()]
	s.objects[o.GetUID()] = o
	s.judge.Wrote(by, was, o)
	return o
}

func (s *scene) remove(by *Pass, o client.Object) {
	was := s.objects[o.GetUID()]
	delete(s.objects, o.GetUID())
	s.judge.Wrote(by, was, nil)
}

func (s *scene) begin(role string, process int) *Pass {
	var shown []client.Object
	for _, o := range s.objects {
		shown = append(shown, o)
	}
	return s.judge.Begin(Pass{By: Author{Role: role, Process: process}, At: s.now}, shown)
}

func gardenerMachine(name string, edits ...func(*v1alpha1.Machine)) *v1alpha1.Machine {
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"node": name}}}
	for _, edit := range edits {
		edit(m)
	}
	return m
}

// setOfDeployment is a set of d with the name, which is also its UID.
func setOfDeployment(d *v1alpha1.MachineDeployment, name string) *v1alpha1.MachineSet {
	s := &v1alpha1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	s.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(d, v1alpha1.GroupVersion.WithKind("MachineDeployment"))}
	return s
}

// ofSet makes a machine a member of s.
func ofSet(s *v1alpha1.MachineSet) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) {
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("MachineSet"))}
	}
}

func labelled(value string) func(*v1alpha1.Machine) {
	return func(m *v1alpha1.Machine) { m.Labels["v"] = value }
}

// TestSince tests the one tolerance: changes after the pass looked.
func TestSince(t *testing.T) {
	s := newScene()
	other, mine := s.begin(Machines, 1), s.begin(Sets, 2)
	s.write(nil, gardenerMachine("m", labelled("old")))
	p := s.begin(Sets, 2)
	values := func(p *Pass, w window) string {
		var out []string
		for _, o := range s.judge.since("m", p, w) {
			if o == nil {
				out = append(out, "gone")
			} else {
				out = append(out, o.GetLabels()["v"])
			}
		}
		return strings.Join(out, " ")
	}
	expect := func(reason string, p *Pass, w window, want string) {
		t.Helper()
		if got := values(p, w); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
	expect("as it was", p, bySight, "old")
	s.write(nil, gardenerMachine("m", labelled("people")))
	expect("people came between", p, bySight, "old people")
	expect("a later pass has the same caches", &Pass{By: p.By, seen: p.seen, began: s.judge.Changes()}, bySight, "old people")
	expect("and asked the API server", &Pass{By: p.By, seen: p.seen, began: s.judge.Changes()}, atBegin, "people")
	s.write(mine, gardenerMachine("m", labelled("own")))
	expect("what it wrote itself it knows", p, bySight, "own")
	expect("not when that came after it was sent", &Pass{By: p.By, seen: p.seen, sent: 1}, bySight, "old people own")
	s.write(other, gardenerMachine("m", labelled("another")))
	expect("another controller's writes are news", p, bySight, "own another")
	s.remove(&Pass{By: Author{Role: Sets, Process: 3}}, gardenerMachine("m"))
	expect("who led before made it go, which can be asked for", p, bySight, "gone")
	expect("a deposed process cannot know", s.judge.Writes(p, true, 0), bySight, "own another gone")
}

// TestLateChangeIsNews: a process without a reply does not know when its change arrives in the middle of a pass.
// It expects the machines that it created or deleted.
func TestLateChangeIsNews(t *testing.T) {
	for name, c := range map[string]struct {
		reason, want string
		late, before bool
		write        func(s *scene, by *Pass)
	}{
		"answered": {"it knows", "new", false, false, func(s *scene, by *Pass) { s.write(by, gardenerMachine("m", labelled("new"))) }},
		"late":     {"it may have been so all the time", "old new", true, false, func(s *scene, by *Pass) { s.write(by, gardenerMachine("m", labelled("new"))) }},
		"before":   {"it was there to be seen", "new", true, true, func(s *scene, by *Pass) { s.write(by, gardenerMachine("m", labelled("new"))) }},
		"removed":  {"it asks for that again", "", true, false, func(s *scene, by *Pass) { s.remove(by, gardenerMachine("m")) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.write(nil, gardenerMachine("m", labelled("old")))
			p := s.begin(Sets, 2)
			by := *p
			by.By.Late = c.late
			c.write(s, &by)
			if c.before {
				p = &Pass{By: p.By, seen: p.seen, began: s.judge.Changes()}
			}
			var got []string
			for _, o := range s.judge.since("m", p, bySight) {
				if o != nil {
					got = append(got, o.GetLabels()["v"])
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %q, want %q", c.reason, got, c.want)
			}
		})
	}
}

// TestMadeAnewSince: a machine is deleted and recreated under another UID, with its instance, in the middle of a
// pass for it.
func TestMadeAnewSince(t *testing.T) {
	for name, before := range map[string]bool{"before the pass": true, "in the middle of it": false} {
		s := newScene()
		p := s.begin(Machines, 1)
		s.write(nil, gardenerMachine("m"))
		if before {
			p = s.begin(Machines, 1)
		}
		s.judge.Stopped(Instance{ID: "i-1", UID: "m"}, p)
		if got := slices.Contains(s.broken, WantedStays); got != before {
			t.Errorf("%s: broken %v", name, s.broken)
		}
	}
}

// TestForce tests when a pod may be deleted without its budget's consent.
func TestForce(t *testing.T) {
	deleted := func(ago time.Duration) func(*scene, *v1alpha1.Machine) {
		return func(s *scene, m *v1alpha1.Machine) { m.DeletionTimestamp = &metav1.Time{Time: s.now.Add(-ago)} }
	}
	tests := map[string]struct {
		reason string
		with   []func(*scene, *v1alpha1.Machine)
		ready  corev1.ConditionStatus
		since  time.Duration
		broken bool
	}{
		"early": {"its time is not over", []func(*scene, *v1alpha1.Machine){deleted(time.Hour)}, corev1.ConditionTrue, 0, true},
		"late":  {"2 h are", []func(*scene, *v1alpha1.Machine){deleted(2 * time.Hour)}, corev1.ConditionTrue, 0, false},
		"own timeout": {"of the machine", []func(*scene, *v1alpha1.Machine){deleted(time.Hour), func(_ *scene, m *v1alpha1.Machine) {
			m.Spec.MachineConfiguration = &v1alpha1.MachineConfiguration{MachineDrainTimeout: &metav1.Duration{Duration: time.Hour}}
		}}, corev1.ConditionTrue, 0, false},
		"unseen": {"an hour was out of sight", []func(*scene, *v1alpha1.Machine){deleted(2 * time.Hour), func(s *scene, _ *v1alpha1.Machine) {
			s.outages = []Outage{{From: s.now.Add(-90 * time.Minute), To: s.now.Add(-30 * time.Minute)}}
		}}, corev1.ConditionTrue, 0, true},
		"in a hurry": {"a person says so", []func(*scene, *v1alpha1.Machine){deleted(time.Minute), func(_ *scene, m *v1alpha1.Machine) {
			m.Labels["force-deletion"] = "true"
		}}, corev1.ConditionTrue, 0, false},
		"silent":       {"nobody answers for the node", []func(*scene, *v1alpha1.Machine){deleted(time.Minute)}, corev1.ConditionUnknown, 6 * time.Minute, false},
		"silent a bit": {"it may come back", []func(*scene, *v1alpha1.Machine){deleted(time.Minute)}, corev1.ConditionUnknown, 3 * time.Minute, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			m := gardenerMachine("m")
			for _, edit := range tc.with {
				edit(s, m)
			}
			s.write(nil, m)
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "n"}}
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tc.ready, LastTransitionTime: metav1.NewTime(s.now.Add(-tc.since))}}
			s.write(nil, n)
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}, Spec: corev1.PodSpec{NodeName: "m"}}
			s.write(nil, pod)
			s.judge.PodLeaves(s.begin(Machines, 1), pod, nil, true)
			if broken := len(s.broken) > 0; broken != tc.broken {
				t.Errorf("%s: broken %v", tc.reason, s.broken)
			}
		})
	}
}

// TestVolumesLeaveInTurn: a second pod with a volume is evicted from a node while the first is being deleted.
func TestVolumesLeaveInTurn(t *testing.T) {
	for _, tc := range []struct {
		reason            string
		deleted, selected time.Duration
		broken            bool
	}{
		{"the drain of a deletion has time left", time.Hour, 0, true},
		{"it has none: all go at once", 2 * time.Hour, 0, false},
		{"the drain for an update has time left", 0, time.Hour, true},
		{"it has none either", 0, 2 * time.Hour, false},
	} {
		s := newScene()
		now := s.now
		m := gardenerMachine("m")
		if tc.deleted > 0 {
			m.DeletionTimestamp = &metav1.Time{Time: now.Add(-tc.deleted)}
		}
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "n"}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now.Add(-24 * time.Hour))}}
		if tc.selected > 0 {
			n.Labels = map[string]string{v1alpha1.LabelKeyNodeSelectedForUpdate: "true"}
		}
		s.now = now.Add(-tc.selected)
		s.write(nil, m)
		s.write(nil, n)
		s.now = now
		pods := []*corev1.Pod{database("db-0"), database("db-1")}
		for _, pod := range pods {
			s.write(nil, pod)
		}
		p := s.begin(Machines, 1)
		for _, pod := range pods {
			going := pod.DeepCopy()
			going.DeletionTimestamp = &metav1.Time{Time: now.Add(30 * time.Second)}
			s.write(p, going)
			s.judge.PodLeaves(p, pod, going, false)
		}
		if broken := len(s.broken) > 0; broken != tc.broken {
			t.Errorf("%s: broken %q", tc.reason, s.broken)
		}
	}
}

// database is a pod with a volume on node m.
func database(name string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: "m"}}
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}}
	return pod
}

// TestBounds tests the limits in the documents.
func TestBounds(t *testing.T) {
	for _, tc := range []struct {
		reason             string
		size               int
		strategy           string
		surge, unavailable string
		byHand             bool
		most, least        int
	}{
		{"numbers", 10, rolling, "3", "2", false, 13, 8},
		{"a surge is rounded up, unavailable ones down", 10, rolling, "25%", "25%", false, 13, 8},
		{"one may be unavailable where nothing could move", 10, rolling, "0", "0", false, 10, 9},
		{"no more than there are", 3, inPlace, "1", "7", false, 4, 0},
		{"people choose, and nothing is made", 10, inPlace, "3", "0", true, 10, 9},
		{"nothing is replaced step by step", 10, recreate, "3", "2", false, 10, 10},
		{"none are wanted", 0, rolling, "3", "2", false, 0, 0},
	} {
		d := deployment{size: tc.size, strategy: tc.strategy, byHand: tc.byHand}
		surge, unavailable := intstr.Parse(tc.surge), intstr.Parse(tc.unavailable)
		d.bounds(&surge, &unavailable)
		if d.most() != tc.most || d.least() != tc.least {
			t.Errorf("%s: from %d to %d, want from %d to %d", tc.reason, d.least(), d.most(), tc.least, tc.most)
		}
	}
}

// TestQuarantineBeginsAnew: if a lost machine exists again for long enough to be seen, the quarantine of its instance ends; if it
// exists for a moment only, the quarantine continues. Conclusions about a machine are dropped when a backup restores
// it.
func TestQuarantineBeginsAnew(t *testing.T) {
	for back, want := range map[time.Duration]time.Duration{30 * time.Second: time.Minute, time.Hour: time.Minute + 2*time.Hour} {
		s := newScene()
		s.judge.Period = time.Minute
		first, m := s.now, gardenerMachine("m")
		s.write(nil, m)
		s.now = s.now.Add(time.Minute)
		s.remove(nil, m)
		s.judge.surplus["m"], s.judge.surplus["gone"] = true, true
		s.now = s.now.Add(time.Hour)
		s.write(nil, m)
		s.judge.Restored(s.judge.Changes())
		if s.judge.surplus["m"] || !s.judge.surplus["gone"] {
			t.Errorf("surplus after the restore: %v", s.judge.surplus)
		}
		s.now = s.now.Add(back)
		s.remove(nil, m)
		if got := s.judge.alone(Instance{UID: "m", Created: first}); !got.Equal(first.Add(want)) {
			t.Errorf("a machine that came back for %v: its instance has none since %v, want %v", back, got.Sub(first), want)
		}
	}
}

// TestQuarantineOfOneMoment: a machine may be deleted and recreated at the very time at which its instance is created. A deletion
// after the creation begins the quarantine, as in world 100202586. A deletion before it does not.
func TestQuarantineOfOneMoment(t *testing.T) {
	const back, again = time.Minute, time.Minute + 16*time.Second
	for _, tc := range []struct {
		reason string
		// before, after: the machine is deleted at that time, before or after the instance is created.
		before, after bool
		want          time.Duration
	}{
		{reason: "it is lost once, later", want: again},
		{reason: "it is lost at once, and back between two looks", after: true},
		{reason: "it was lost before, and the instance made for what came back", before: true, want: again},
		{reason: "it was lost before and after", before: true, after: true},
	} {
		s := newScene()
		s.judge.Period = time.Minute
		m := gardenerMachine("m")
		s.write(nil, m)
		if tc.before {
			s.remove(nil, m)
			s.write(nil, m)
		}
		i := Instance{ID: "i", UID: "m", Created: s.now}
		s.instances = []Instance{i}
		s.judge.Created(i, s.begin(Machines, 1), false)
		if tc.after {
			s.remove(nil, m)
			s.now = i.Created.Add(back)
			s.write(nil, m)
		}
		s.now = i.Created.Add(again)
		s.remove(nil, m)
		if got := s.judge.alone(i).Sub(i.Created); got != tc.want {
			t.Errorf("%s: alone since %v, want %v", tc.reason, got, tc.want)
		}
	}
}
