package machinehealthcheck

import (
	"context"
	"slices"
	"testing"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect/openshift"
)

// behind is a client whose cache shows a machine as it was.
type behind struct {
	client.Client
	shown *machinev1.Machine
}

func (b behind) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if m, ok := o.(*machinev1.Machine); ok && key.Name == b.shown.Name {
		b.shown.DeepCopyInto(m)
		return nil
	}
	return b.Client.Get(ctx, key, o, opts...)
}

// TestMarkedAgain: who repairs a machine takes the mark off it, and may be done before
// the cache has shown the mark. A machine that is unhealthy still is marked anew, as soon
// as the cache shows it without.
func TestMarkedAgain(t *testing.T) {
	for reason, tc := range map[string]struct {
		taken, behind, later bool
		want                 []string
	}{
		"the mark came and went unseen":            {taken: true, want: []string{"patch a"}},
		"the mark is there, as the cache shows":    {},
		"the mark is there, and not in the cache":  {behind: true},
		"the mark is gone, and was never in cache": {taken: true, behind: true, later: true},
	} {
		m, _ := pair("a")
		_, other := pair("b")
		w := newWorld(t, m, other, checkOf(func(c *lenient.MachineHealthCheck) {
			c.Annotations = map[string]string{openshift.StrategyAnnotation: openshift.StrategyMark}
		}))
		before := w.machine("a")
		w.pass()
		now := w.machine("a")
		if !marked(now) {
			t.Fatalf("%s: not marked at first", reason)
		}
		if tc.taken {
			delete(now.Annotations, openshift.ExternalRemediationAnnotation)
			w.must(w.Update(t.Context(), now))
		}
		if tc.behind {
			w.r.Client = behind{w, before}
		}
		w.wrote()
		w.heard()
		w.r.MachineChanged(m)
		w.pass()
		asked := slices.DeleteFunc(w.wrote(), func(s string) bool { return s != "patch a" })
		if told := w.heard(); !slices.Equal(asked, tc.want) || (told != "") != (tc.want != nil) || marked(w.machine("a")) == tc.later {
			t.Errorf("%s: marked %v, by %v, told %q; want %v", reason, marked(w.machine("a")), asked, told, tc.want)
		}
		w.r.Client = w
		w.r.MachineChanged(m)
		w.pass()
		if !marked(w.machine("a")) {
			t.Errorf("%s: not marked when the cache has caught up", reason)
		}
	}
}

func (w *world) machine(name string) *machinev1.Machine {
	m := &machinev1.Machine{}
	w.must(w.Get(w.t.Context(), client.ObjectKey{Namespace: ns, Name: name}, m))
	return m
}

func marked(m *machinev1.Machine) bool {
	_, is := m.Annotations[openshift.ExternalRemediationAnnotation]
	return is
}
