package collect

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/engine/explain"
)

// machineController returns the facts in leases about the machine controllers of an API. setController returns the
// facts about the controllers of sets, deployments and health checks.
func (l *look) machineController(ctx context.Context, s explain.Subject) explain.Controller {
	return l.controller(ctx, s, "machine controller", func(lease string) bool { return of(s).LeadsMachines(lease) })
}

func (l *look) setController(ctx context.Context, s explain.Subject) explain.Controller {
	return l.controller(ctx, s, "machine-controller-manager", func(lease string) bool { return lease == of(s).SetLease() })
}

// controller reads the leases of a controller in the default places: in the namespace of the machines, and in the
// namespaces of both APIs. If no lease exists there, the controller may run without leader election, or with a lease
// in another namespace.
func (l *look) controller(ctx context.Context, s explain.Subject, name string, leads func(lease string) bool) explain.Controller {
	c := explain.Controller{Name: name}
	if l.brief {
		return c
	}
	places := []string{s.Namespace, "kube-system", "millwright-system", "openshift-machine-api", "default"}
	places = slices.DeleteFunc(places, func(place string) bool { return place == "" }) // the namespace is empty for a question about all namespaces
	slices.Sort(places)
	places = slices.Compact(places)
	var denied []error
	for _, place := range places {
		list, err := once(l, "leases/"+place, func() (*coordinationv1.LeaseList, error) {
			var list coordinationv1.LeaseList
			return &list, l.Control.List(ctx, &list, client.InNamespace(place))
		})
		if err != nil {
			denied = append(denied, err)
		}
		for i := range list.Items {
			o := &list.Items[i]
			held := lease(o)
			if !leads(o.Name) || slices.ContainsFunc(c.Leases, func(l explain.Lease) bool { return l.Where == held.Where }) {
				continue // another controller, or a lease that the list already has
			}
			held.Stranger = stranger(ctx, l, o.Namespace, held.Holder)
			c.Leases = append(c.Leases, held)
		}
	}
	what := "whether a " + name + " is running"
	switch {
	case len(c.Leases) > 0:
	case len(denied) > 0:
		l.note(Gap{Leading: true, Text: what + " (leases): " + denied[0].Error()})
	default:
		l.note(Gap{Leading: true, Text: what + ": it has no lease in the namespaces " + strings.Join(places, ", ") + "; it may lead without, or elsewhere"})
	}
	return c
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// stranger reports whether the holder of a lease is not a controller, according to its identity and the pods in the
// namespace of the lease. The identity of a controller is "<host>_<UUID>". The controllers of Gardener use only the
// name of their pod.
func stranger(ctx context.Context, l *look, namespace, holder string) bool {
	host, id, _ := strings.Cut(holder, "_")
	if uuid.MatchString(id) || holder == "" {
		return false
	}
	pods, err := once(l, "holders/"+namespace, func() (*corev1.PodList, error) {
		var list corev1.PodList
		return &list, l.Control.List(ctx, &list, client.InNamespace(namespace))
	})
	return err == nil && !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == holder || p.Name == host || p.Spec.NodeName == host })
}

func lease(o *coordinationv1.Lease) explain.Lease {
	out := explain.Lease{
		Where: o.Namespace + "/" + o.Name, Holder: ptr.Deref(o.Spec.HolderIdentity, ""),
		Lasts: time.Duration(ptr.Deref(o.Spec.LeaseDurationSeconds, 0)) * time.Second,
	}
	if t := o.Spec.RenewTime; t != nil {
		out.Renewed = t.Time
	}
	return out
}
