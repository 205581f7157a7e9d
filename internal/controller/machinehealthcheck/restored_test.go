package machinehealthcheck

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
)

// back shows a check as it was.
type back struct {
	*world
	was *lenient.MachineHealthCheck
}

// Get implements client.Reader.
func (b back) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if c, ok := o.(*lenient.MachineHealthCheck); ok {
		b.was.DeepCopyInto(c)
		return nil
	}
	return b.world.Get(ctx, key, o, opts...)
}

// TestServerGoesBack: the API server is restored, and has the check as it was before
// its last status. The check counts again from what there is: else it would compare
// with what was written, and its status would stay wrong for ever.
func TestServerGoesBack(t *testing.T) {
	w := newWorld(t, append(pairs("a", "b"), checkOf())...)
	was := &lenient.MachineHealthCheck{}
	w.must(w.Get(t.Context(), request("check").NamespacedName, was))
	w.pass()
	w.r.Client, w.r.Live = back{w, was}, back{w, was}
	counted := false
	w.refuses = func(verb string, o client.Object) error {
		if verb != "patch status" {
			return nil
		}
		counted = counted || o.GetResourceVersion() == was.ResourceVersion
		return apierrors.NewConflict(schema.GroupResource{Resource: "machinehealthchecks"}, o.GetName(), errors.New("changed"))
	}
	began := w.clock.Now()
	for passes := 0; !counted && passes < 40; passes++ {
		w.step(w.pass().RequeueAfter)
	}
	if !counted || w.clock.Since(began) > 15*time.Second {
		t.Errorf("the status that was restored was replaced: %v, after %v", counted, w.clock.Since(began))
	}
}
