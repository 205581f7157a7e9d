package machine

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// failures are mapi_instance_{create,update,delete}_failed (section 9.1 of the OpenShift notes): how often
// the infrastructure failed a machine. Their reasons are kinds of errors, and their series end with their
// machine: the original keeps a series for each error text for ever.
type failures struct{ create, update, remove *prometheus.CounterVec }

func newFailures(r prometheus.Registerer) failures {
	counter := func(verb, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mapi_instance_" + verb + "_failed", Help: help}, []string{"name", "namespace", "reason"})
		r.MustRegister(c)
		return c
	}
	return failures{
		create: counter("create", "Failed attempts to create a machine's instance, by the kind of the error."),
		update: counter("update", "Failed attempts to maintain or initialize a machine's existing instance, by the kind of the error."),
		remove: counter("delete", "Failed attempts to delete a machine's instance, by the kind of the error."),
	}
}

// count counts the failure of the infrastructure in a pass over a machine.
func (f failures) count(machine types.NamespacedName, was lifecycle.Machine, out lifecycle.Outcome) {
	if vec, err := f.of(was, out); err != nil {
		vec.WithLabelValues(machine.Name, machine.Namespace, string(provider.KindOf(err))).Inc()
	}
}

// of returns the failed operation, with its error; a pass fails in at most one.
func (f failures) of(was lifecycle.Machine, out lifecycle.Outcome) (*prometheus.CounterVec, error) {
	w := out.World
	switch {
	case !was.Deleted.IsZero():
		if out.Reason == lifecycle.ReasonTerminateFailed {
			return f.remove, out.Err
		}
	case out.Did(lifecycle.Create) && w.Retry.Step == lifecycle.Create && w.Session.UserDataErr == nil:
		return f.create, w.Retry.Err
	case out.Did(lifecycle.Initialize) && w.Retry.Step == lifecycle.Initialize:
		return f.update, w.Retry.Err
	case was.Recorded.Provisioned:
		return f.update, cmp.Or(w.Session.Err, w.Instances.Err)
	}
	return nil, nil
}

// forget ends the series of a deleted machine.
func (f failures) forget(machine types.NamespacedName) {
	for _, v := range []*prometheus.CounterVec{f.create, f.update, f.remove} {
		v.DeletePartialMatch(prometheus.Labels{"name": machine.Name, "namespace": machine.Namespace})
	}
}
