package gardener

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/rollout"
)

// stored is one deployment with all that belongs to it.
type stored struct {
	deployment *v1alpha1.MachineDeployment
	sets       []*v1alpha1.MachineSet
	machines   []*v1alpha1.Machine
	nodes      map[string]*corev1.Node
}

func readStored(t *testing.T, path string) (s stored) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s.nodes = map[string]*corev1.Node{}
	for _, doc := range bytes.Split(raw, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			t.Fatal(err)
		}
		node := &corev1.Node{}
		switch kind.Kind {
		case "MachineDeployment":
			s.deployment = &v1alpha1.MachineDeployment{}
			err = yaml.UnmarshalStrict(doc, s.deployment)
		case "MachineSet":
			s.sets = append(s.sets, &v1alpha1.MachineSet{})
			err = yaml.UnmarshalStrict(doc, s.sets[len(s.sets)-1])
		case "Machine":
			s.machines = append(s.machines, &v1alpha1.Machine{})
			err = yaml.UnmarshalStrict(doc, s.machines[len(s.machines)-1])
		case "Node":
			err = yaml.UnmarshalStrict(doc, node)
			s.nodes[node.Name] = node
		default:
			t.Fatalf("%s: what is a %q?", path, kind.Kind)
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", path, kind.Kind, err)
		}
	}
	return s
}

// facts are what a shell would show the engine.
func (s stored) facts(l Deployments, now time.Time) (rollout.Deployment, []rollout.Set) {
	var sets []rollout.Set
	for _, set := range s.sets {
		v := l.Sets().View(s.deployment, set)
		for _, m := range s.machines {
			if metav1.IsControlledBy(m, set) {
				v.Machines = append(v.Machines, l.Machines().View(m, func(name string) *corev1.Node { return s.nodes[name] }))
			}
		}
		sets = append(sets, v)
	}
	return l.View(s.deployment, now).Deployment, sets
}

// TestStoredObjectsAtRest: to take over from another implementation, or to
// upgrade this one, rolls no machine and writes nothing but the status.
func TestStoredObjectsAtRest(t *testing.T) {
	paths, err := filepath.Glob("testdata/deployment-corpus/*.yaml")
	if err != nil || len(paths) < 3 {
		t.Fatalf("corpus %v: %v", paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			l, s := Deployments{StayDuringRollout: true}, readStored(t, path)
			d, sets := s.facts(l, setNow)
			if len(d.Faults) > 0 {
				t.Fatalf("at fault: %v", d.Faults)
			}
			p := rollout.Decide(setNow, d, sets, l.policy(s.deployment))
			asIs := []rollout.Action{rollout.Amend{Revision: d.Revision}, rollout.MarkVictims(nil), rollout.MarkNodes(nil), rollout.HandOver(nil)}
			for _, w := range p.Sets() {
				asIs = append(asIs, rollout.ApplySet{SetWant: w})
			}
			asIs = append(asIs, rollout.Amend{Revision: d.Revision}, rollout.Unprotect(nil), rollout.DeleteSets(nil), rollout.Report{}, rollout.MarkNodesLate(nil))
			want := rollout.Plan{Actions: asIs, Status: p.Status}
			if diff := cmp.Diff(want, p, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("something is to be done (-rest +plan):\n%s", diff)
			}
			current := 0
			for _, w := range p.Sets() {
				if w.Scales() {
					t.Errorf("%s is scaled from %d to %d: %s", w.Name, w.Was, w.Replicas, w.Note)
				}
				if w.Current {
					current++
				}
				s.undressed(t, l, w)
			}
			if current != 1 || !p.Status.Complete || p.Status.Progress.Reason != rollout.SetAvailable {
				t.Errorf("%d current sets; %+v", current, p.Status)
			}
			before := s.deployment.DeepCopy()
			if l.ApplyMetadata(s.deployment, s.sets, p.Amendment()); !cmp.Equal(before, s.deployment) {
				t.Errorf("the deployment is amended:\n%s", cmp.Diff(before, s.deployment))
			}
		})
	}
}

// undressed checks that the set looks as w says already.
func (s stored) undressed(t *testing.T, l Deployments, w rollout.SetWant) {
	t.Helper()
	for _, set := range s.sets {
		if set.UID != w.UID {
			continue
		}
		before := set.DeepCopy()
		l.Sets().Apply(s.deployment, set, w)
		if diff := cmp.Diff(before, set, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s is written:\n%s", set.Name, diff)
		}
	}
}

// TestStoredObjectsRoll proves that the corpus can tell: a change of the
// template is no rest.
func TestStoredObjectsRoll(t *testing.T) {
	l, s := Deployments{}, readStored(t, "testdata/deployment-corpus/rolling.yaml")
	s.deployment.Spec.Template.Spec.Class.Name = "other"
	d, sets := s.facts(l, setNow)
	p := rollout.Decide(setNow, d, sets, l.policy(s.deployment))
	if p.Create() == nil || p.Create().Revision != 3 {
		t.Fatalf("no set for another template: %+v", p)
	}
	made := l.Sets().New(s.deployment, *p.Create())
	if got := l.Sets().View(s.deployment, made); !got.Current || got.Revision != 3 || got.Replicas != p.Create().Replicas {
		t.Errorf("%+v", got)
	}
}
